//! Names of users from the password file.

use std::collections::HashMap;

use crate::probe::text::{nonempty_lines, parse_number, read_file};
use crate::roots::SysPaths;

/// User names by user id, read once. Users known only to a directory service are shown as numbers.
#[derive(Debug, Default)]
pub struct UserNames {
    names: HashMap<u32, String>,
}

impl UserNames {
    /// Reads `/etc/passwd` through procfs, so that it is below the roots.
    #[must_use]
    pub fn from_passwd(roots: &SysPaths) -> Self {
        let text = read_file(&roots.proc.join("self/root/etc/passwd")).unwrap_or_default();
        Self {
            names: nonempty_lines(&text).filter_map(parse_entry).collect(),
        }
    }

    /// The name, or the number where there is none.
    #[must_use]
    pub fn user_name(&self, user: u32) -> String {
        self.names
            .get(&user)
            .cloned()
            .unwrap_or_else(|| user.to_string())
    }
}

/// `name:password:number:...` (passwd(5)).
#[must_use]
pub fn parse_entry(line: &[u8]) -> Option<(u32, String)> {
    let mut parts = line.split(|byte| *byte == b':');
    let name = parts.next()?;
    let user = u32::try_from(parse_number(parts.nth(1)?)?).ok()?;
    Some((user, String::from_utf8_lossy(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_without_name_is_shown_as_number() {
        let users = UserNames {
            names: [
                &b"root:x:0:0:root:/root:/bin/sh"[..],
                b"+::::::",
                b"www:x:33:33::/:",
            ]
            .into_iter()
            .filter_map(parse_entry)
            .collect(),
        };
        assert_eq!(users.user_name(0), "root");
        assert_eq!(users.user_name(33), "www");
        assert_eq!(users.user_name(1000), "1000");
    }
}
