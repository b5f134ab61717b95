//! Settings as people write them (SPEC sections 7 and 8): the examples of the documentation, a gallery
//! of mistakes with the words that each of them gets, and texts that nobody would write.

mod gallery;
mod random;
mod seeds;

use std::path::Path;

use regrow::settings::Settings;
use regrow::settings::layers::{Layer, Merged};
use regrow::settings::node::Format;
use regrow::settings::resolve::resolve;

/// What a single file makes of the settings, or all that is wrong with it, one error a line.
fn settings_of(text: &str, format: Format) -> Result<Settings, String> {
    let name = match format {
        Format::Json => "settings.json",
        Format::Yaml => "settings.yaml",
    };
    Layer::from_file(Path::new(name), text, format)
        .and_then(|layer| resolve(&Merged::of([layer])))
        .map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            errors.join("\n")
        })
}
