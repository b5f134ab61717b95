//! A gallery of mistakes: what people get wrong in settings files, and what they are told. The words
//! are recorded in one snapshot, to be read as a whole.

use std::fmt::Write as _;

use regrow::settings::node::Format;

use super::settings_of;

const JSON: &[&str] = &[
    // The text itself.
    "{",
    "{\"mouse\": true",
    "{\"mouse\" true}",
    "{\"mouse\": }",
    "{\"mouse\": true \"theme\": \"dark\"}",
    "{mouse: true}",
    "{'mouse': true}",
    "{\"theme\": 'dark'}",
    "{\"mouse\": yes}",
    "{\"compaction\": {\"reserveTokens\": .5}}",
    "{\"compaction\": {\"reserveTokens\": 0x4000}}",
    "{\"mouse\": true}\n{\"mouse\": false}",
    "{\"theme\": \"dark}",
    "{\n  // two of them\n  \"mouse\": true,\n  \"mouse\": false\n}",
    "/* no end",
    // The file as a whole.
    "[]",
    "\"mouse\"",
    "null",
    // Keys.
    "{\"mouze\": true}",
    "{\"Compaction\": {}}",
    "{\"reserveTokens\": 1000}",
    "{\"compaction\": {\"reserve_tokens\": 1000}}",
    "{\"compaction\": {\"softTrimRatio\": 0.3}}",
    "{\"zzz\": 1}",
    "{\"timeouts\": {\"total\": 1}}",
    "{\"summarization\": {\"contextPruning\": {\"softTrim\": {\"maxchars\": 10}}}}",
    // Types.
    "{\"mouse\": \"true\"}",
    "{\"mouse\": 1}",
    "{\"mouse\": null}",
    "{\"theme\": 5}",
    "{\"theme\": \"\"}",
    "{\"tools\": \"read\"}",
    "{\"tools\": [\"read\", 5]}",
    "{\"compaction\": true}",
    "{\"compaction\": []}",
    "{\"compaction\": {\"reserveTokens\": \"16k\"}}",
    "{\"compaction\": {\"reserveTokens\": 1.5}}",
    "{\"summarization\": {\"parameters\": {\"stop\": [\"x\"]}}}",
    "{\"summarization\": {\"parameters\": {\"temperature\": null}}}",
    // Ranges and choices.
    "{\"compaction\": {\"reserveTokens\": -1}}",
    "{\"compaction\": {\"keepRecentTokens\": 0}}",
    "{\"compaction\": {\"reserveTokens\": 1e300}}",
    "{\"compaction\": {\"remoteEndpoint\": \"summaries.example.com\"}}",
    "{\"compaction\": {\"fallback\": \"extract\"}}",
    "{\"permissions\": {\"mode\": \"yolo\"}}",
    "{\"thinking\": \"max\"}",
    "{\"timeouts\": {\"idle\": 0}}",
    "{\"summarization\": {\"reserveRatio\": 5}}",
    "{\"summarization\": {\"maxSummaryTokens\": -1}}",
    "{\"summarization\": {\"trigger\": \"token_ratio\"}}",
    "{\"summarization\": {\"trigger\": {\"value\": 0.8}}}",
    "{\"summarization\": {\"trigger\": {\"type\": \"token_ratio\"}}}",
    "{\"summarization\": {\"trigger\": {\"type\": \"tokenRatio\", \"value\": 0.8}}}",
    "{\"summarization\": {\"trigger\": {\"type\": \"token_ratio\", \"value\": 80}}}",
    "{\"summarization\": {\"trigger\": {\"type\": \"remaining_tokens\", \"value\": 0.2}}}",
    "{\"summarization\": {\"trigger\": {\"type\": \"token_ratio\", \"value\": 0.8, \"unit\": \"%\"}}}",
    "{\"summarization\": {\"retainRecent\": {\"turns\": 21}}}",
    "{\"summarization\": {\"contextPruning\": {\"keepLastAssistants\": 11}}}",
    "{\"summarization\": {\"contextPruning\": {\"softTrimRatio\": 0.7, \"hardClearRatio\": 0.3}}}",
    "{\"summarization\": {\"contextPruning\": {\"softTrim\": {\"maxChars\": 40, \"headChars\": 100}}}}",
    // Blocks in lists.
    "{\"hooks\": {\"tool_call\": \"./guard\"}}",
    "{\"hooks\": [{\"command\": [\"./guard\"]}]}",
    "{\"hooks\": [{\"events\": [\"tool_cal\"], \"command\": [\"./guard\"]}]}",
    "{\"hooks\": [{\"events\": [\"tool_call\"], \"command\": 5}]}",
    "{\"hooks\": [{\"events\": [\"tool_call\"], \"command\": \"\"}]}",
    "{\"hooks\": [{\"events\": [], \"command\": \"./guard\"}]}",
    "{\"hooks\": [{\"events\": [\"tool_call\"], \"command\": \"./guard\", \"tools\": \"bash\"}]}",
    "{\"hooks\": [{\"events\": [\"tool_call\"], \"command\": []}]}",
    "{\"hooks\": [{\"events\": [\"tool_call\"], \"command\": [\"x\"], \"timeout\": 9999}]}",
    "{\"endpoints\": {\"custom\": [{\"baseUrl\": \"http://x\"}]}}",
    "{\"endpoints\": {\"custom\": [{\"name\": \"a\", \"apiKey\": \"secret\"}]}}",
    // Several at once, in the order of the file.
    "{\n  \"mouse\": 1,\n  \"compaction\": {\"enabeld\": true, \"reserveTokens\": 0},\n  \"them\": \"dark\"\n}",
    // What was removed.
    "{\"endpoints\": {\"azureOpenAI\": [{\"name\": \"a\", \"summarize\": true, \"summaryModel\": \"m\"}]}}",
];

const YAML: &[&str] = &[
    "mouse: [",
    "mouse: true\n  theme: dark",
    "compaction:\n\tenabled: true",
    "mouse: true\nmouse: false",
    "theme: \"dark",
    "mouse: *nobody",
    "- mouse",
    "mouse",
    "mouse: yes",
    "mouse:",
    "compaction:\n  # enabled: false\n",
    "compaction:\n  reserveTokens: 16k # as the docs say\n",
    "compaction:\n  reserveTokens: '16384'\n",
    "compaction:\n- enabled: true\n",
    "compaction: {enabled: off}\n",
    "summarization:\n  reserveRatio: .nan\n",
    "summarization:\n  contextPruning:\n    softtrimratio: 0.3\n",
    "summarization:\n  trigger:\n    type: token_ratio\n    value: '0.8'\n",
    "---\nmouse: true\n---\nmouse: false\n",
    "endpoints:\n  custom:\n    - name: 'My Endpoint'\n      summarize: true\n      summaryModel: 'gpt-3.5-turbo'\n",
    "endpoints:\n  azureOpenAI:\n    summarize: false\n",
    "? [a, b]\n: c\n",
];

#[test]
fn g1_every_mistake_gets_its_words() {
    let mut gallery = String::new();
    for (format, files) in [(Format::Json, JSON), (Format::Yaml, YAML)] {
        for text in files {
            let words = match settings_of(text, format) {
                Ok(_) => panic!("this loads: {text}"),
                Err(words) => words,
            };
            let shown = text.replace('\t', "→");
            writeln!(gallery, "{}\n{words}\n", shown.trim_end()).unwrap();
        }
    }
    assert!(JSON.len() + YAML.len() >= 60);
    insta::assert_snapshot!(gallery);
}
