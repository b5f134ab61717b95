//! Texts that nobody would write: whatever stands in a settings file, reading it ends in values or in
//! words, and what passes the check also fits the types (F82).

use proptest::prelude::*;
use serde_json::{Value, json};

use regrow::settings::edit::{Change, apply};
use regrow::settings::node::Format;
use regrow::settings::schema::{Key, leaves};

use super::settings_of;

/// A value of some key, of the right kind or of any other.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..40_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0.0..1.5_f64).prop_map(Value::from),
        prop_oneof![Just("high"), Just("full"), Just("none"), Just("http://x"), Just("가")]
            .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(
                (prop_oneof![Just("type"), Just("value"), Just("name")], inner),
                0..3
            )
            .prop_map(|keys| keys
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn key() -> impl Strategy<Value = Key> {
    let keys: Vec<Key> = leaves().into_iter().map(|leaf| leaf.key).collect();
    prop::sample::select(keys)
}

fn file() -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), value()), 1..5).prop_map(|pairs| {
        let mut root = serde_json::Map::new();
        for (key, value) in pairs {
            key.insert_into(&mut root, value);
        }
        Value::Object(root)
    })
}

proptest! {
    #[test]
    fn f82_any_text_ends_in_values_or_words(text in "[\\{\\}\\[\\]:,\"'#/*&|> \\-\n\ta-z0-9é가]{0,60}") {
        for format in [Format::Json, Format::Yaml] {
            if let Err(words) = settings_of(&text, format) {
                prop_assert!(words.starts_with("settings."), "{words}");
            }
        }
    }

    #[test]
    fn g1_what_passes_the_check_fits_the_types(file in file()) {
        if let Err(words) = settings_of(&file.to_string(), Format::Json) {
            prop_assert!(!words.contains("cannot be read"), "{file}: {words}");
        }
    }

    #[test]
    fn g1_both_formats_agree(file in file()) {
        let flow = file.to_string();
        let (json, yaml) = (settings_of(&flow, Format::Json), settings_of(&flow, Format::Yaml));
        prop_assert_eq!(json.is_ok(), yaml.is_ok(), "{} {:?} {:?}", flow, json, yaml);
        if let (Ok(json), Ok(yaml)) = (json, yaml) {
            prop_assert_eq!(json, yaml);
        }
    }

    #[test]
    fn f82_edits_change_what_they_say_and_nothing_else(
        first in key(),
        second in key(),
        number in 1_u64..20,
    ) {
        for format in [Format::Json, Format::Yaml] {
            let set = |key: &Key, value: Value| Change { key: key.clone(), value: Some(value) };
            let before = apply("", format, &[set(&first, json!(number))]).unwrap();
            let after = apply(&before, format, &[set(&second, json!("two words: # 1"))]).unwrap();
            let mut expected = serde_json::Map::new();
            first.insert_into(&mut expected, json!(number));
            second.insert_into(&mut expected, json!("two words: # 1"));
            prop_assert_eq!(format.read(&after).unwrap().to_value(), Value::Object(expected));
            let undone = apply(&after, format, &[Change { key: second.clone(), value: None }]);
            if first != second {
                let undone = format.read(&undone.unwrap()).unwrap().to_value();
                prop_assert_eq!(undone, format.read(&before).unwrap().to_value());
            }
        }
    }
}
