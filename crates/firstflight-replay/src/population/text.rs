//! Quantiles, and values in the syntax of a population file.

/// Quantiles that are written if there are enough connections.
const SHARES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99];
/// Minimum size of a group for quantiles in its tails.
pub(super) const FEW: usize = 100;

/// The quantile of sorted values, interpolated linearly.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

pub(super) fn four(value: f64) -> f64 {
    // Four digits are as precise as a trace, and keep files comparable.
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A distribution in the syntax of a population file.
pub(super) fn table(values: &mut [f64], suffix: &str) -> String {
    values.sort_by(f64::total_cmp);
    let Some((first, last)) = values.first().zip(values.last()) else { return String::new() };
    if values.len() < 4 || last - first <= first.abs() * 1e-9 {
        let middle = four(quantile(values, 0.5));
        return if suffix.is_empty() {
            format!("{middle:?}")
        } else {
            format!("{{ constant = {{ value{suffix} = {middle:?} }} }}")
        };
    }
    // A quantile needs a value beyond it.
    let known = |share: &&f64| {
        **share * values.len() as f64 >= 0.5 && (1.0 - **share) * values.len() as f64 >= 0.5
    };
    let shares: Vec<f64> = SHARES.iter().filter(known).copied().collect();
    let mut most = 0.0_f64;
    let quantiles: Vec<String> = shares
        .iter()
        .map(|share| {
            most = most.max(four(quantile(values, *share)));
            format!("{most:?}")
        })
        .collect();
    let shares: Vec<String> = shares.iter().map(|share| format!("{share:?}")).collect();
    format!(
        "{{ table = {{ q = [{}], values{suffix} = [{}] }} }}",
        shares.join(", "),
        quantiles.join(", ")
    )
}

pub(super) fn quoted(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(120).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}
