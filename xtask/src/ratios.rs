//! Statistics of interleaved timing rounds.
//!
//! In a round every program runs once, so what disturbs the machine disturbs neighbours alike; the ratio is taken
//! within a round, the median over the rounds of a series, and the best series counts: noise only ever adds.

/// Times of one program over the rounds of one series, in nanoseconds, a round each.
pub(crate) type Series = Vec<f64>;

/// The middle value; of an even number the mean of the two in the middle; of none, no value.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[middle - 1], upper))
}

/// The median over the rounds of `time / base` within a round.
pub(crate) fn median_ratio(time: &[f64], base: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = time.iter().zip(base).map(|(time, base)| time / base).collect();
    median(&ratios)
}

/// The smallest of the values that are there.
pub(crate) fn best(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().flatten().min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_none_one_two_and_three() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[4.0, 2.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        // The second round ran on a busy machine: ten times slower for both.
        assert_eq!(median_ratio(&[3.0, 30.0, 3.0], &[2.0, 20.0, 2.0]), Some(1.5));
    }

    #[test]
    fn one_disturbed_run_does_not_move_the_median() {
        assert_eq!(median_ratio(&[2.0, 900.0, 2.0], &[2.0, 2.0, 2.0]), Some(1.0));
    }

    #[test]
    fn the_best_series_counts_and_missing_ones_do_not() {
        assert_eq!(best([Some(1.4), None, Some(1.2)]), Some(1.2));
        assert_eq!(best([None]), None);
    }
}
