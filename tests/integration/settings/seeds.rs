//! The documents that the summarization block comes from: every example in them must load as it is.
//! They lie beside the repository; where they are not, this says so and passes.

use std::path::PathBuf;

use regrow::settings::Trigger;
use regrow::settings::node::Format;

use super::settings_of;

/// The YAML examples of a document: runs of lines that begin with a key at the left edge.
fn examples(document: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in document.lines() {
        let is_key = line.split_once(':').is_some_and(|(key, _)| {
            !key.is_empty()
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-')
        });
        let starts = is_key && !line.starts_with(' ');
        match found.last_mut() {
            Some(example) if open && (starts || line.starts_with(' ') || line.is_empty()) => {
                example.push_str(line);
                example.push('\n');
            }
            _ if starts => {
                found.push(format!("{line}\n"));
                open = true;
            }
            _ => open = false,
        }
    }
    found
}

#[test]
fn s1_the_examples_of_the_documentation_load_as_they_are() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/seeds");
    let Ok(documents) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: no documents in {}", folder.display());
        return;
    };
    let mut loaded = 0;
    let mut rejected = 0;
    for document in documents {
        let text = std::fs::read_to_string(document.unwrap().path()).unwrap();
        for example in examples(&text) {
            match settings_of(&example, Format::Yaml) {
                Ok(settings) => {
                    loaded += 1;
                    if example.contains("maxSummaryTokens: 4096") {
                        assert_eq!(settings.summarization.provider.as_deref(), Some("openai"));
                        assert_eq!(settings.summarization.model.as_deref(), Some("gpt-4o-mini"));
                        assert_eq!(settings.summarization.trigger, Some(Trigger::TokenRatio(0.8)));
                        assert!(settings.summarization.context_pruning.enabled);
                    }
                }
                Err(error) => {
                    // The one example of what is no longer possible, with the block to write instead.
                    assert!(example.contains("summaryModel"), "{example}\n{error}");
                    assert!(error.contains("summarization:\n  model: gpt-3.5-turbo"), "{error}");
                    rejected += 1;
                }
            }
        }
    }
    assert!(loaded >= 5 && rejected == 1, "{loaded} examples loaded, {rejected} rejected");
}

#[test]
fn s1_a_complete_file_loads_in_both_formats() {
    let yaml = include_str!("complete.yaml");
    let json = include_str!("complete.json");
    let from_yaml = settings_of(yaml, Format::Yaml).unwrap();
    assert_eq!(from_yaml, settings_of(json, Format::Json).unwrap());
    assert_eq!(from_yaml.hooks[0].timeout, 60);
    assert_eq!(from_yaml.endpoints[0].base_url.as_deref(), Some("http://127.0.0.1:9000/v1"));
    // Every key of the schema is in it, so that none of them goes untested.
    let values = Format::Yaml.read(yaml).unwrap().to_value();
    let missing: Vec<String> = regrow::settings::schema::leaves()
        .into_iter()
        .filter(|leaf| leaf.key.find_in(&values).is_none())
        .map(|leaf| leaf.key.to_string())
        .collect();
    assert_eq!(missing, [""; 0]);
}
