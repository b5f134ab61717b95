//! Named styles, so that nothing else names a colour (U7).
//!
//! A theme is a TOML file of styles; the two built-in ones are in `assets/themes`. Each style says
//! what it is with many colours, with sixteen, and with none at all.

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// None, or the person wants none (`NO_COLOR`).
    None,
    /// The sixteen of the palette.
    #[default]
    Ansi16,
    /// 256.
    Indexed,
    /// All.
    True,
}

impl ColorDepth {
    /// What the environment says; `variable` looks a variable up.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).unwrap_or_default();
        let term = value("TERM");
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            return Self::None;
        }
        match value("COLORTERM").as_str() {
            "truecolor" | "24bit" => Self::True,
            _ if term.contains("direct") => Self::True,
            _ if term.contains("256color") => Self::Indexed,
            _ => Self::Ansi16,
        }
    }
}

/// The styles of the screen. One accent; dim for what is secondary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Theme {
    /// Plain text.
    pub text: Style,
    /// Secondary text.
    pub dim: Style,
    /// The one accent: the user's bar, the active path, the caret's prompt.
    pub accent: Style,
    /// Things that went well.
    pub success: Style,
    /// Things to look at.
    pub warning: Style,
    /// Things that failed.
    pub error: Style,
    /// The selected row.
    pub selected: Style,
    /// Code in text.
    pub code: Style,
    /// Headings.
    pub heading: Style,
    /// Links.
    pub link: Style,
    /// Reasoning.
    pub thinking: Style,
    /// Added lines of a diff.
    pub added: Style,
    /// Removed lines of a diff.
    pub removed: Style,
    /// Summaries.
    pub summary: Style,
    /// Whether there are no colours, so that signs must do their work: inline code keeps its
    /// back-ticks.
    pub colourless: bool,
    /// Whether it is made for a light background.
    pub light: bool,
}

/// A theme that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The file is not a theme.
    #[error("the theme cannot be read: {0}")]
    Parse(#[from] Box<toml::de::Error>),
    /// A colour that is none.
    #[error(
        "`{0}` is no colour; write \"#rrggbb\" for fg, a name such as \"bright-blue\" for ansi"
    )]
    Color(String),
}

const DARK: &str = include_str!("../../assets/themes/dark.toml");
const LIGHT: &str = include_str!("../../assets/themes/light.toml");

impl Theme {
    /// Works on dark terminals with 16 colours and on any palette.
    #[must_use]
    pub fn dark() -> Self {
        Self::parse(DARK, ColorDepth::Ansi16).unwrap_or_else(|_| Self::bare())
    }

    /// The built-in theme of that name.
    #[must_use]
    pub fn named(name: &str, depth: ColorDepth) -> Option<Self> {
        let (source, light) = match name {
            "dark" => (DARK, false),
            "light" => (LIGHT, true),
            _ => return None,
        };
        Self::parse(source, depth).ok().map(|theme| Self { light, ..theme })
    }

    /// Reads a theme for a terminal.
    ///
    /// # Errors
    /// The text is no theme, or names a colour that is none.
    pub fn parse(source: &str, depth: ColorDepth) -> Result<Self, ThemeError> {
        let file: ThemeFile = toml::from_str(source).map_err(Box::new)?;
        Ok(Self {
            text: file.text.style(depth)?,
            dim: file.dim.style(depth)?,
            accent: file.accent.style(depth)?,
            success: file.success.style(depth)?,
            warning: file.warning.style(depth)?,
            error: file.error.style(depth)?,
            selected: file.selected.style(depth)?,
            code: file.code.style(depth)?,
            heading: file.heading.style(depth)?,
            link: file.link.style(depth)?,
            thinking: file.thinking.style(depth)?,
            added: file.added.style(depth)?,
            removed: file.removed.style(depth)?,
            summary: file.summary.style(depth)?,
            colourless: depth == ColorDepth::None,
            light: false,
        })
    }

    /// No styles at all, but for the selection.
    const fn bare() -> Self {
        let plain = Style::new();
        Self {
            text: plain,
            dim: plain,
            accent: plain,
            success: plain,
            warning: plain,
            error: plain,
            selected: plain.add_modifier(Modifier::REVERSED),
            code: plain,
            heading: plain,
            link: plain,
            thinking: plain,
            added: plain,
            removed: plain,
            summary: plain,
            colourless: true,
            light: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    text: StyleSpec,
    dim: StyleSpec,
    accent: StyleSpec,
    success: StyleSpec,
    warning: StyleSpec,
    error: StyleSpec,
    selected: StyleSpec,
    code: StyleSpec,
    heading: StyleSpec,
    link: StyleSpec,
    thinking: StyleSpec,
    added: StyleSpec,
    removed: StyleSpec,
    summary: StyleSpec,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct StyleSpec {
    fg: Option<String>,
    bg: Option<String>,
    ansi: Option<String>,
    mods: Vec<Attribute>,
    mono: Vec<Attribute>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Attribute {
    Bold,
    Dim,
    Italic,
    Underlined,
    Reversed,
}

impl Attribute {
    const fn modifier(self) -> Modifier {
        match self {
            Self::Bold => Modifier::BOLD,
            Self::Dim => Modifier::DIM,
            Self::Italic => Modifier::ITALIC,
            Self::Underlined => Modifier::UNDERLINED,
            Self::Reversed => Modifier::REVERSED,
        }
    }
}

impl StyleSpec {
    fn style(&self, depth: ColorDepth) -> Result<Style, ThemeError> {
        let mut style = Style::new();
        let mono = if depth == ColorDepth::None { self.mono.as_slice() } else { &[] };
        for attribute in self.mods.iter().chain(mono) {
            style = style.add_modifier(attribute.modifier());
        }
        let many = matches!(depth, ColorDepth::Indexed | ColorDepth::True);
        let foreground =
            if many { self.fg.as_ref().or(self.ansi.as_ref()) } else { self.ansi.as_ref() };
        if depth != ColorDepth::None {
            if let Some(name) = foreground {
                style = style.fg(color(name, depth)?);
            }
            if let Some(name) = self.bg.as_ref().filter(|_| many) {
                style = style.bg(color(name, depth)?);
            }
        }
        Ok(style)
    }
}

fn color(name: &str, depth: ColorDepth) -> Result<Color, ThemeError> {
    let wrong = || ThemeError::Color(name.to_owned());
    match name.parse::<Color>().map_err(|_| wrong())? {
        Color::Rgb(r, g, b) if depth == ColorDepth::Indexed => Ok(Color::Indexed(nearest(r, g, b))),
        Color::Rgb(..) if depth == ColorDepth::Ansi16 => Err(wrong()),
        color => Ok(color),
    }
}

/// The nearest colour of the 256: the 6×6×6 cube or the ramp of greys.
fn nearest(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |value: u8| {
        (0..6u8).min_by_key(|at| STEPS[usize::from(*at)].abs_diff(value)).unwrap_or_default()
    };
    let distance = |one: [u8; 3]| -> u32 {
        one.iter().zip([r, g, b]).map(|(x, y)| u32::from(x.abs_diff(y)).pow(2)).sum()
    };
    let (red, green, blue) = (step(r), step(g), step(b));
    let cube = [red, green, blue].map(|at| STEPS[usize::from(at)]);
    let grey = (0..24u8).min_by_key(|at| distance([8 + 10 * at; 3])).unwrap_or_default();
    if distance([8 + 10 * grey; 3]) < distance(cube) {
        232 + grey
    } else {
        16 + 36 * red + 6 * green + blue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u7_built_in_themes_read_at_every_depth() {
        for name in ["dark", "light"] {
            for depth in
                [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Indexed, ColorDepth::True]
            {
                let theme = Theme::named(name, depth).unwrap();
                assert_ne!(theme.dim, theme.text, "{name} {depth:?}");
                assert_ne!(theme.error, theme.text, "{name} {depth:?}");
            }
        }
        assert_eq!(Theme::named("sepia", ColorDepth::True), None);
    }

    #[test]
    fn u7_no_color_leaves_only_attributes() {
        let theme = Theme::named("dark", ColorDepth::None).unwrap();
        for style in [theme.accent, theme.error, theme.added, theme.link, theme.dim] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert!(theme.colourless);
    }

    #[test]
    fn u7_the_environment_decides_the_depth() {
        let depth = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            ColorDepth::detect(move |name| {
                pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(depth(&[("TERM", "xterm")]), ColorDepth::Ansi16);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), ColorDepth::Indexed);
        assert_eq!(depth(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]), ColorDepth::True);
        assert_eq!(depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), ColorDepth::None);
        assert_eq!(depth(&[("NO_COLOR", ""), ("TERM", "xterm")]), ColorDepth::Ansi16);
    }

    #[test]
    fn u7_colours_fall_back_to_the_nearest() {
        assert_eq!((nearest(255, 0, 0), nearest(128, 128, 128), nearest(0, 0, 0)), (196, 244, 16));
    }

    #[test]
    fn u7_a_wrong_colour_is_named() {
        let source = DARK.replace("#7fb4ca", "teal-ish");
        let error = Theme::parse(&source, ColorDepth::True).unwrap_err().to_string();
        assert!(error.contains("teal-ish"), "{error}");
    }
}
