//! The user namespace of this process (user_namespaces(7)).

use std::fs;

use crate::roots::SysPaths;

/// The initial user namespace, by its inode number (kernel include/linux/proc_ns.h).
const FIRST_USER_NAMESPACE: &str = "user:[4026531837]";

/// Whether it is the initial one. In any other one capabilities are valid for that namespace only, and
/// users and groups have other numbers. False if unknown.
pub fn is_first(roots: &SysPaths) -> bool {
    let namespace = fs::read_link(roots.proc.join("self/ns/user"));
    namespace.is_ok_and(|link| link.as_os_str() == FIRST_USER_NAMESPACE)
}
