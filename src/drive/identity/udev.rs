//! The udev database: what programs such as blkid detected on a device, readable by all users.

use std::collections::HashMap;
use std::fs;

use crate::drive::identity::sysfs::drive_text;
use crate::roots::SysPaths;

/// Properties of one device from `/run/udev/data/bMAJOR:MINOR`; empty without udev.
#[derive(Debug, Clone, Default)]
pub(super) struct UdevProperties {
    values: HashMap<String, String>,
    /// Links below `/dev` that udev makes.
    links: Vec<String>,
}

impl UdevProperties {
    /// Reads the properties of a block device.
    pub(super) fn read(roots: &SysPaths, (major, minor): (u32, u32)) -> Self {
        let path = roots.run.join(format!("udev/data/b{major}:{minor}"));
        Self::parse(&String::from_utf8_lossy(
            &fs::read(path).unwrap_or_default(),
        ))
    }

    /// Lines `E:NAME=VALUE` are properties, lines `S:NAME` links.
    fn parse(text: &str) -> Self {
        Self {
            values: text
                .lines()
                .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
                .map(|(name, value)| (name.to_owned(), decode_udev_value(value)))
                .collect(),
            links: text
                .lines()
                .filter_map(|line| line.strip_prefix("S:"))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Its names below `/dev/disk/by-id`.
    pub(super) fn names_by_id(&self) -> Vec<String> {
        let names = self.links.iter();
        names
            .filter_map(|link| link.strip_prefix("disk/by-id/"))
            .map(str::to_owned)
            .collect()
    }

    /// One property, unless it is empty.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.values
            .get(name)
            .map(|value| drive_text(value))
            .filter(|value| !value.is_empty())
    }

    /// The full model name; `ID_MODEL` has underscores for spaces.
    pub(super) fn model(&self) -> Option<String> {
        self.get("ID_MODEL_ENC")
            .or_else(|| self.get("ID_MODEL").map(|model| model.replace('_', " ")))
    }
}

/// udev escapes unsafe bytes as `\xHH`.
fn decode_udev_value(value: &str) -> String {
    let mut parts = value.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn udev_properties_are_decoded() {
        let udev = UdevProperties::parse(
            "S:disk/by-id/x\nE:ID_MODEL_ENC=WDC\\x20WD40EFRX\\x20\nE:ID_BUS=ata\n",
        );
        assert_eq!(udev.model().as_deref(), Some("WDC WD40EFRX"));
        assert_eq!(udev.get("ID_BUS").as_deref(), Some("ata"));
        assert_eq!(udev.get("ID_FS_TYPE"), None);
        assert_eq!(udev.names_by_id(), ["x"]);
        assert_eq!(decode_udev_value("a\\xZZ\\x1b[2J"), "aZZ\u{1b}[2J");
    }

    /// As systemd encodes a name: letters, digits and some marks as they are, other bytes as `\xHH`.
    fn encoded(name: &[u8]) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"#+-.:=@_".contains(&byte);
        let encode = |byte: &u8| match plain(*byte) {
            true => char::from(*byte).to_string(),
            false => format!("\\x{byte:02x}"),
        };
        name.iter().map(encode).collect()
    }

    proptest! {
        #[test]
        fn encoded_names_are_read_back(name in prop::collection::vec(1_u8..=255, 0..20)) {
            let decoded = decode_udev_value(&encoded(&name));
            prop_assert_eq!(decoded, String::from_utf8_lossy(&name));
        }
    }
}
