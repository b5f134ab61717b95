//! Which words a model takes for how much it should think: data by model id (pure).

use super::ThinkingLevel;

/// The least and the most that models whose id begins so can be asked for.
///
/// The first match counts, so longer beginnings stand first. `None`: the model takes no wish.
const EFFORTS: &[(&str, Option<(ThinkingLevel, ThinkingLevel)>)] = &[
    ("gpt-5-pro", None),
    ("gpt-5-codex", Some((ThinkingLevel::Low, ThinkingLevel::High))),
    ("gpt-5.1-codex-max", Some((ThinkingLevel::Low, ThinkingLevel::Xhigh))),
    ("gpt-5.1-codex", Some((ThinkingLevel::Low, ThinkingLevel::High))),
    ("gpt-5.1", Some((ThinkingLevel::Off, ThinkingLevel::High))),
    ("gpt-5.2-pro", Some((ThinkingLevel::Medium, ThinkingLevel::Xhigh))),
    ("gpt-5.4-pro", Some((ThinkingLevel::Medium, ThinkingLevel::Xhigh))),
    ("gpt-5.5-pro", Some((ThinkingLevel::Medium, ThinkingLevel::Xhigh))),
    ("gpt-5.3-codex", Some((ThinkingLevel::Low, ThinkingLevel::Xhigh))),
    ("gpt-5.", Some((ThinkingLevel::Off, ThinkingLevel::Xhigh))),
    ("gpt-5", Some((ThinkingLevel::Minimal, ThinkingLevel::High))),
    ("gpt-6", Some((ThinkingLevel::Off, ThinkingLevel::Xhigh))),
    ("chat-latest", None),
    ("o1-mini", None),
    ("o", Some((ThinkingLevel::Low, ThinkingLevel::High))),
];

/// What models that the table does not know are asked for at least and at most.
const USUAL: (ThinkingLevel, ThinkingLevel) = (ThinkingLevel::Low, ThinkingLevel::High);

/// The word for `level` that the model takes: the nearest it has. `None` when it takes no wish.
#[must_use]
pub fn effort(model_id: &str, level: ThinkingLevel) -> Option<&'static str> {
    // Routers put the maker before the name.
    let id = model_id.rsplit('/').next().unwrap_or(model_id);
    let known = EFFORTS.iter().find(|(beginning, _)| {
        id.strip_prefix(beginning).is_some_and(|rest| {
            // `o` stands for o1, o3 …, not for every name with that letter.
            *beginning != "o" || rest.starts_with(|letter: char| letter.is_ascii_digit())
        })
    });
    let (least, most) = known.map_or(Some(USUAL), |(_, range)| *range)?;
    let level = level.clamp(least, most);
    // Where little is the least, minimal is no word of the model's.
    let level = match level {
        ThinkingLevel::Minimal if least != ThinkingLevel::Minimal => ThinkingLevel::Low,
        level => level,
    };
    Some(if level == ThinkingLevel::Off { "none" } else { level.as_str() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ThinkingLevel::*;

    #[test]
    fn p1_a_level_becomes_the_nearest_word_of_the_model() {
        for (id, level, expected) in [
            ("gpt-5", Off, Some("minimal")),
            ("gpt-5-mini", Xhigh, Some("high")),
            ("gpt-5.1", Off, Some("none")),
            ("gpt-5.1", Minimal, Some("low")),
            ("gpt-5.2-pro", Off, Some("medium")),
            ("gpt-5-pro", High, None),
            ("gpt-6.1-sol", Xhigh, Some("xhigh")),
            ("o3", Off, Some("low")),
            ("openai/gpt-oss-120b", Off, Some("low")),
            ("openai/gpt-oss-120b", Xhigh, Some("high")),
            ("openrouter-thing", Medium, Some("medium")),
        ] {
            assert_eq!(effort(id, level), expected, "{id} {level:?}");
        }
    }
}
