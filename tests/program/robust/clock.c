/* The calendar's clock as a machine has it whose time is set while the program runs: CLOCK_STEP
 * seconds are added to it from 700 ms after the program's first look on. Preloaded. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec first;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	struct timespec steady;
	long result = syscall(SYS_clock_gettime, clock, now);

	if (result != 0 || clock != CLOCK_REALTIME)
		return result;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &steady);
	if (first.tv_sec == 0)
		first = steady;
	if ((steady.tv_sec - first.tv_sec) * 1000 + (steady.tv_nsec - first.tv_nsec) / 1000000 >= 700) {
		const char *step = getenv("CLOCK_STEP");
		now->tv_sec += step ? atol(step) : 0;
	}
	return 0;
}
