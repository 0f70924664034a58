//! Names of users from the password file.

use std::collections::HashMap;

use super::text::{lines, number, read};
use crate::roots::Roots;

/// Names by user id, read once: what a directory service knows beyond the file is shown as a
/// number.
#[derive(Debug, Default)]
pub struct Users {
    names: HashMap<u32, String>,
}

impl Users {
    /// Reads `/etc/passwd` by way of procfs, so that it lies below the roots.
    #[must_use]
    pub fn read(roots: &Roots) -> Self {
        let text = read(&roots.proc.join("self/root/etc/passwd")).unwrap_or_default();
        Self {
            names: lines(&text).filter_map(entry).collect(),
        }
    }

    /// The name, or the number where there is none.
    #[must_use]
    pub fn name(&self, user: u32) -> String {
        self.names
            .get(&user)
            .cloned()
            .unwrap_or_else(|| user.to_string())
    }
}

/// `name:password:number:...` (passwd(5)).
fn entry(line: &[u8]) -> Option<(u32, String)> {
    let mut parts = line.split(|byte| *byte == b':');
    let name = parts.next()?;
    let user = u32::try_from(number(parts.nth(1)?)?).ok()?;
    Some((user, String::from_utf8_lossy(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_name_is_a_number() {
        let users = Users {
            names: [
                &b"root:x:0:0:root:/root:/bin/sh"[..],
                b"+::::::",
                b"www:x:33:33::/:",
            ]
            .into_iter()
            .filter_map(entry)
            .collect(),
        };
        assert_eq!(users.name(0), "root");
        assert_eq!(users.name(33), "www");
        assert_eq!(users.name(1000), "1000");
    }
}
