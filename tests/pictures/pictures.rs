//! Draws the pictures of `assets/` from captures of a terminal, as `capture.sh` beside this file makes
//! them of the running program: `cargo run --example pictures -- CAPTURES [DIRECTORY]`.
//!
//! Each file `NAME.ansi` in the directory of captures becomes `NAME.svg`.

mod capture;
mod svg;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let captures = arguments
        .next()
        .ok_or_else(|| std::io::Error::other("the directory of the captures is missing"))?;
    let directory = arguments.next().unwrap_or_else(|| "assets".into());
    for entry in std::fs::read_dir(captures)? {
        let path = entry?.path();
        let (Some(name), Some("ansi")) = (
            path.file_stem(),
            path.extension().and_then(|extension| extension.to_str()),
        ) else {
            continue;
        };
        let picture = svg::draw(&capture::parse(&std::fs::read_to_string(&path)?));
        let picture_path = Path::new(&directory).join(name).with_extension("svg");
        std::fs::write(picture_path, picture)?;
    }
    Ok(())
}
