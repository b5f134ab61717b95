//! Images for the `read` tool and for prompts: within what providers take, made smaller where they are not.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use serde_json::json;

use super::replace_file::failed;
use super::truncate::Bytes;
use super::{ToolError, ToolOutput};
use crate::message::{Block, Image};

/// Files above this are not read at all.
const MOST_READ: u64 = 32 * 1024 * 1024;

/// Bytes of an image as providers take them: their limit of 5 MB counts base64.
const MOST_SENT: usize = 3_750_000;

/// Pixels on a side above which providers shrink or refuse an image.
#[cfg(feature = "images")]
const LONGEST_SIDE: u32 = 2_000;

/// The kind of image that a file begins with, where it is one that models take.
pub(crate) fn kind(sample: &[u8]) -> Option<&'static str> {
    match infer::get(sample)?.mime_type() {
        kind @ ("image/png" | "image/jpeg" | "image/gif" | "image/webp") => Some(kind),
        _ => None,
    }
}

/// Reads an image file, made smaller where it is larger than what providers take; `None` when it is no
/// image that models take.
///
/// # Errors
/// It cannot be read, or is too large; in a sentence.
pub fn read(path: &Path) -> Result<Option<Image>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MOST_READ + 1).read_to_end(&mut bytes).map_err(failed)?;
    let Some(kind) = kind(&bytes) else { return Ok(None) };
    if bytes.len() as u64 > MOST_READ {
        return Err(format!("{} is larger than {}", path.display(), Bytes(MOST_READ)));
    }
    let fitted = fit(bytes, kind).map_err(|problem| format!("{}: {problem}", path.display()))?;
    Ok(Some(fitted.into_image()))
}

/// An image that somebody else has put together, made smaller where it is larger than what providers
/// take.
///
/// # Errors
/// It is no image that models take; in a sentence.
pub fn checked(image: &Image) -> Result<Image, String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(&image.data);
    let bytes = bytes.map_err(|error| format!("the data of an image is no base64: {error}"))?;
    let kind = kind(&bytes).ok_or("an image is none that models take (PNG, JPEG, GIF, WebP)")?;
    Ok(fit(bytes, kind)?.into_image())
}

/// An image from pixels of four bytes each: red, green, blue, how opaque.
///
/// # Errors
/// They are no image, or it cannot be made small enough; in a sentence.
#[cfg(feature = "images")]
pub fn from_pixels(width: u64, height: u64, pixels: Vec<u8>) -> Result<Image, String> {
    let sides = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    let picture =
        sides.and_then(|(width, height)| image::RgbaImage::from_raw(width, height, pixels));
    let picture = picture.ok_or("these pixels are no image")?;
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::ImageRgba8(picture)
        .write_to(&mut png, image::ImageFormat::Png)
        .map_err(|error| format!("the image cannot be encoded: {error}"))?;
    Ok(fit(png.into_inner(), "image/png")?.into_image())
}

/// Reads the rest of an image file.
pub(crate) fn load(
    path: &Path,
    mut file: File,
    mut bytes: Vec<u8>,
    len: u64,
    kind: &'static str,
) -> Result<ToolOutput, ToolError> {
    if len > MOST_READ {
        return Err(ToolError::new(format!(
            "{} is an image of {}; images are read up to {}. Make it smaller first",
            path.display(),
            Bytes(len),
            Bytes(MOST_READ)
        )));
    }
    (&mut file)
        .take(MOST_READ)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(path, "reading failed", &error))?;
    let fitted = fit(bytes, kind)
        .map_err(|problem| ToolError::new(format!("{}: {problem}", path.display())))?;
    let size = Bytes(fitted.bytes.len() as u64);
    let summary = match fitted.shown {
        Some((width, height)) => format!("{width}×{height} · {size}"),
        None => size.to_string(),
    };
    let mut told = format!("{}: {} image", path.display(), &kind["image/".len()..]);
    if let Some((width, height)) = fitted.shown {
        told.push_str(&format!(", {width}×{height} pixels"));
    }
    if let Some((width, height)) = fitted.reduced_from {
        told.push_str(&format!(" (made smaller from {width}×{height})"));
    }
    Ok(ToolOutput {
        content: vec![Block::text(told), Block::Image(fitted.into_image())],
        details: Some(json!({ "summary": summary })),
    })
}

struct Fitted {
    bytes: Vec<u8>,
    kind: &'static str,
    shown: Option<(u32, u32)>,
    reduced_from: Option<(u32, u32)>,
}

impl Fitted {
    fn into_image(self) -> Image {
        Image {
            data: base64::engine::general_purpose::STANDARD.encode(&self.bytes),
            mime_type: self.kind.to_owned(),
        }
    }
}

#[cfg(not(feature = "images"))]
fn fit(bytes: Vec<u8>, kind: &'static str) -> Result<Fitted, String> {
    if bytes.len() > MOST_SENT {
        return Err(format!(
            "the image has {}; at most {} can be sent. Make it smaller first",
            Bytes(bytes.len() as u64),
            Bytes(MOST_SENT as u64)
        ));
    }
    Ok(Fitted { bytes, kind, shown: None, reduced_from: None })
}

#[cfg(feature = "images")]
fn fit(bytes: Vec<u8>, kind: &'static str) -> Result<Fitted, String> {
    use image::ImageReader;
    use std::io::Cursor;

    let damaged = |error: image::ImageError| format!("the image cannot be decoded: {error}");
    let reader = |bytes| {
        ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .map_err(|error| format!("the image cannot be read: {error}"))
    };
    let size = reader(bytes.as_slice())?.into_dimensions().map_err(damaged)?;
    let (width, height) = size;
    if bytes.len() <= MOST_SENT && width.max(height) <= LONGEST_SIDE {
        return Ok(Fitted { bytes, kind, shown: Some(size), reduced_from: None });
    }
    // The reader's own limits keep a small file from unfolding into gigabytes of pixels.
    let picture = reader(bytes.as_slice())?.decode().map_err(damaged)?;
    let mut side = LONGEST_SIDE.min(width.max(height));
    loop {
        let smaller = picture.thumbnail(side, side);
        let (bytes, kind) = encoded(&smaller).map_err(damaged)?;
        if bytes.len() <= MOST_SENT {
            let shown = Some((smaller.width(), smaller.height()));
            return Ok(Fitted { bytes, kind, shown, reduced_from: Some(size) });
        }
        side = side * 3 / 4;
        if side < 64 {
            return Err("the image cannot be made small enough to be sent".to_owned());
        }
    }
}

/// PNG keeps text and lines sharp; photographs that grow too large as PNG become JPEG.
#[cfg(feature = "images")]
fn encoded(picture: &image::DynamicImage) -> image::ImageResult<(Vec<u8>, &'static str)> {
    use std::io::Cursor;
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png)?;
    if bytes.len() <= MOST_SENT / 2 {
        return Ok((bytes, "image/png"));
    }
    let mut smaller = Vec::new();
    let opaque = image::DynamicImage::ImageRgb8(picture.to_rgb8());
    opaque.write_to(&mut Cursor::new(&mut smaller), image::ImageFormat::Jpeg)?;
    Ok((smaller, "image/jpeg"))
}
