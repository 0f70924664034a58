//! Notices about values that could not be read.

/// What could not be read and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeNotice {
    /// `/proc/diskstats` could not be read.
    NoDiskstats,
    /// `/proc/PID/io` of other users' processes is refused.
    OthersIoNotPermitted,
    /// No process has I/O counters: a kernel without CONFIG_TASK_IO_ACCOUNTING.
    NoIoAccounting,
    /// The sysctl `kernel.task_delayacct` is off.
    DelayAccountingOff,
    /// No pressure stall information.
    NoPressure,
    /// Control groups of version 1: buffered writes are charged to the root group.
    BufferedWritesUnattributed,
    /// No hierarchy of control groups counts I/O.
    NoControlGroupIo,
    /// The kernel log cannot be read.
    NoKernelLog,
    /// Records of ended threads go to the first user, PID and network namespaces only.
    ExitRecordsOtherNamespace,
    /// More threads ended than the kernel keeps records of.
    ExitRecordsLost,
}

impl ProbeNotice {
    /// One sentence for the user: what is missing, why, and what to do.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::NoDiskstats => {
                "device rates: n/a, /proc/diskstats cannot be read (a container without it?)"
            }
            Self::OthersIoNotPermitted => {
                "I/O of other users' processes: not permitted, needs root or CAP_SYS_PTRACE"
            }
            Self::NoIoAccounting => {
                "I/O of processes: n/a, this kernel has no CONFIG_TASK_IO_ACCOUNTING"
            }
            Self::DelayAccountingOff => {
                "I/O wait of processes: n/a, delay accounting is off (sysctl \
                 kernel.task_delayacct=1 counts it, for processes started afterwards)"
            }
            Self::NoPressure => {
                "I/O pressure: n/a, this kernel has no pressure stall information (psi=1?)"
            }
            Self::BufferedWritesUnattributed => {
                "units: buffered writes are not attributed (control groups of version 1 charge them \
                 to the root group)"
            }
            Self::NoControlGroupIo => {
                "units: n/a, no control group counts I/O (mounted? is the controller io enabled?)"
            }
            Self::NoKernelLog => {
                "I/O errors: the kernel log cannot be read (needs root, or sysctl \
                 kernel.dmesg_restrict=0); only drives that count failed commands are watched"
            }
            Self::ExitRecordsOtherNamespace => {
                "processes that ended between samples: only as part of their parents (exit records of \
                 taskstats need the first user, PID and network namespaces, outside of the container)"
            }
            Self::ExitRecordsLost => {
                "processes that ended between samples: some exit records were lost, more arrived than \
                 the kernel keeps"
            }
        }
    }
}
