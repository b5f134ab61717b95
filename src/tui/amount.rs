//! Numbers as people read them: tokens, times, money.

use std::time::Duration;

/// `987`, `41.2k`, `200k`, `1.3M`.
#[must_use]
pub fn tokens(count: u64) -> String {
    let scaled = |unit: f64, sign: &str| {
        let value = format!("{:.1}", count as f64 / unit);
        format!("{}{sign}", value.strip_suffix(".0").unwrap_or(&value))
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => scaled(1_000.0, "k"),
        _ => scaled(1_000_000.0, "M"),
    }
}

/// `8 s`, `2 min 5 s`, `1 h 3 min`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `$0.41`; empty for nothing.
#[must_use]
pub fn money(dollars: f64) -> String {
    if dollars <= 0.0 {
        String::new()
    } else if dollars < 0.01 {
        "<$0.01".to_owned()
    } else {
        format!("${dollars:.2}")
    }
}

/// `1 line`, `3 lines`.
#[must_use]
pub fn count(number: usize, singular: &str) -> String {
    if number == 1 { format!("1 {singular}") } else { format!("{number} {singular}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_amounts_are_short() {
        let shown: Vec<String> =
            [999, 1_000, 41_234, 200_000, 999_949, 999_950, 1_260_000].map(tokens).into();
        assert_eq!(shown, ["999", "1k", "41.2k", "200k", "999.9k", "1M", "1.3M"]);
        let times: Vec<String> = [8, 125, 3_800].map(|s| duration(Duration::from_secs(s))).into();
        assert_eq!(times, ["8 s", "2 min 5 s", "1 h 3 min"]);
        assert_eq!([0.0, 0.004, 0.414].map(money), ["", "<$0.01", "$0.41"]);
        assert_eq!(count(1, "line") + &count(2, "line"), "1 line2 lines");
    }
}
