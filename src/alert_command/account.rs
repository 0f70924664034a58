//! Users and their groups, from passwd(5) and group(5).
//!
//! The files are read directly: users of a directory service are known by their numbers only, with
//! their primary group and no others.

/// A user as whom a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// Name; the number where there is no name.
    pub(super) name: String,
    /// User id.
    pub(super) user_id: u32,
    /// Primary group.
    pub(super) group_id: u32,
    /// All groups, the primary one included.
    pub(super) groups: Vec<u32>,
    /// Home directory.
    pub(super) home: String,
    /// Login shell.
    pub(super) shell: String,
}

/// The content of the files.
#[derive(Debug, Clone, Copy)]
pub(super) struct AccountFiles<'a> {
    /// `/etc/passwd`.
    pub(super) passwd: &'a str,
    /// `/etc/group`.
    pub(super) group: &'a str,
}

impl AccountFiles<'_> {
    /// The user with that name or number; `None` if the files have none, or its groups are invalid.
    pub(super) fn find(self, name_or_id: &str) -> Option<Account> {
        let mut users = self.passwd.lines().filter_map(parse_user);
        let user_id = name_or_id.parse().ok();
        let found = users.find(|user| user.name == name_or_id || Some(user.user_id) == user_id)?;
        Some(self.with_groups(found))
    }

    /// The user with that number and primary group, also if it has no name.
    pub(super) fn find_id(self, user_id: u32, group_id: u32) -> Account {
        let mut users = self.passwd.lines().filter_map(parse_user);
        let found = users.find(|user| user.user_id == user_id);
        let account = found.unwrap_or_else(|| Account {
            name: user_id.to_string(),
            user_id,
            group_id,
            groups: Vec::new(),
            home: "/".to_owned(),
            shell: "/bin/sh".to_owned(),
        });
        self.with_groups(Account {
            group_id,
            ..account
        })
    }

    fn with_groups(self, mut account: Account) -> Account {
        let member_of = self.group.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let (id, members) = (fields.nth(2)?, fields.next()?);
            let is_member = members.split(',').any(|member| member == account.name);
            is_member.then(|| id.parse::<u32>().ok())?
        });
        account.groups = std::iter::once(account.group_id).chain(member_of).collect();
        account.groups.sort_unstable();
        account.groups.dedup();
        account
    }
}

fn parse_user(line: &str) -> Option<Account> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, user_id, group_id, _, home, shell] = fields.as_slice() else {
        return None;
    };
    Some(Account {
        name: (*name).to_owned(),
        user_id: user_id.parse().ok()?,
        group_id: group_id.parse().ok()?,
        groups: Vec::new(),
        home: (*home).to_owned(),
        shell: (*shell).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: AccountFiles<'_> = AccountFiles {
        passwd: "root:x:0:0:root:/root:/bin/bash\n+::::::\nann:x:1000:1000::/home/ann:/bin/zsh\n",
        group: "root:x:0:\nadm:x:4:syslog,ann\nsudo:x:27:anna\nann:x:1000:\nbroken\n",
    };

    #[test]
    fn user_is_found_with_all_groups() {
        let ann = FILES.find("ann").unwrap();
        assert_eq!((ann.user_id, ann.group_id), (1000, 1000));
        assert_eq!(ann.groups, [4, 1000]);
        assert_eq!(
            (ann.home.as_str(), ann.shell.as_str()),
            ("/home/ann", "/bin/zsh")
        );
        assert_eq!(FILES.find("1000"), Some(ann.clone()));
        assert_eq!(FILES.find_id(1000, 1000), ann);
        assert_eq!(FILES.find("bob"), None);
        assert_eq!(FILES.find("+"), None);
    }

    #[test]
    fn user_without_a_name_has_only_its_primary_group() {
        let account = FILES.find_id(70_000, 70_001);
        assert_eq!(account.groups, [70_001]);
        assert_eq!(
            (account.name.as_str(), account.home.as_str()),
            ("70000", "/")
        );
    }
}
