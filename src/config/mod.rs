//! The user's configuration: `$XDG_CONFIG_HOME/diskscope/config.toml`. `docs/configuration.md`
//! describes the keys.

mod error;
mod file;
mod keys;
mod parse;
mod settings;

pub use self::error::ConfigError;
pub use self::file::config_path;
pub use self::keys::ConfigKey;
pub use self::settings::{Config, ValueSource};

/// Reads the user's file. Without one, and for one that is ignored, the defaults apply.
///
/// # Errors
/// When it cannot be read, or a key or a value is unknown.
pub fn load() -> Result<Config, ConfigError> {
    let mut config = Config {
        path: config_path(),
        ..Config::default()
    };
    let Some(path) = config.path.clone() else {
        return Ok(config);
    };
    match file::read_trusted(&path)? {
        file::FileContent::Missing => {}
        file::FileContent::Ignored(reason) => config.ignored = Some(reason),
        file::FileContent::Text(text) => parse::apply(&mut config, &path, &text)?,
    }
    Ok(config)
}
