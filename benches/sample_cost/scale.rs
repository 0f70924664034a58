//! What a sample costs where there is much of one thing: devices, descriptors, control groups.

use crate::large_machine::{Crowd, sample_cost};
use crate::median::Median;

/// Prints the cost of a sample for a tenth of each number and for the whole of it.
pub fn print_table(rounds: usize) {
    println!("{rounds} rounds; processor time in ms, median (95 % confidence interval)\n");
    println!(
        "| number | of | first sample | a later sample | of a tenth of them | a later sample over that |"
    );
    println!("|---|---|---|---|---|---|");
    for (crowd, count) in Crowd::ALL {
        let (mut first, mut later, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let many = sample_cost(crowd, count);
            first.push(many.first.as_secs_f64() * 1e3);
            later.push(many.later.as_secs_f64() * 1e3);
            few.push(sample_cost(crowd, count / 10).later.as_secs_f64() * 1e3);
        }
        let growth = later.iter().zip(&few).map(|(many, few)| many / few);
        let growth = Median::of(growth).unwrap();
        let of = |costs: Vec<f64>| Median::of(costs).unwrap();
        println!(
            "| {count} | {} | {:.2} | {:.2} | {:.2} | {growth:.1} |",
            crowd.describe(),
            of(first),
            of(later),
            of(few),
        );
    }
}
