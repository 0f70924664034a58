//! The sources of the crate as syntax trees, without code that is compiled for tests only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, Meta};

/// Path of a module below the crate, such as `["drive", "guard"]`; empty for `lib.rs`.
pub type ModulePath = Vec<String>;

/// One source file of the library.
pub struct SourceFile {
    /// Path below `src/`.
    pub path: String,
    /// Its items; those with `#[cfg(test)]` or `#[test]` are removed.
    pub items: Vec<Item>,
    /// Its text, line by line; lines of removed items and comments are empty.
    pub lines: Vec<String>,
}

/// All files of the library by module, except those that are compiled for tests only.
pub fn source_files() -> BTreeMap<ModulePath, SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    add_module(&root.join("lib.rs"), &root, Vec::new(), &mut files);
    assert!(files.len() > 50, "only {} sources found", files.len());
    files
}

/// All `.rs` files below a directory.
pub fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Adds a module's file and, following its declarations, the modules below it.
fn add_module(
    file: &Path,
    children: &Path,
    module: ModulePath,
    files: &mut BTreeMap<ModulePath, SourceFile>,
) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let syntax =
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut lines: Vec<String> = text.lines().map(without_comment).collect();
    let mut items = syntax.items;
    remove_tests(&mut items, &mut lines);
    for item in &items {
        let Item::Mod(declaration) = item else {
            continue;
        };
        if declaration.content.is_some() {
            continue;
        }
        let name = declaration.ident.to_string();
        let directory = children.join(&name);
        let flat = children.join(format!("{name}.rs"));
        let child = if flat.exists() {
            flat
        } else {
            directory.join("mod.rs")
        };
        let path = module.iter().cloned().chain([name]).collect();
        add_module(&child, &directory, path, files);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let path = file
        .strip_prefix(&root)
        .unwrap()
        .to_string_lossy()
        .into_owned();
    files.insert(module, SourceFile { path, items, lines });
}

/// The line up to a `//` outside of string literals.
fn without_comment(line: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    for (at, letter) in line.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '/' if !in_string && line[at..].starts_with("//") => return line[..at].to_owned(),
            _ => {}
        }
    }
    line.to_owned()
}

/// Removes the items that are compiled for tests only, and blanks their lines.
fn remove_tests(items: &mut Vec<Item>, lines: &mut [String]) {
    items.retain_mut(|item| {
        if attributes(item).iter().any(is_for_tests) {
            let span = syn::spanned::Spanned::span(item);
            for line in &mut lines[span.start().line - 1..span.end().line] {
                line.clear();
            }
            return false;
        }
        if let Item::Mod(module) = item
            && let Some((_, items)) = &mut module.content
        {
            remove_tests(items, lines);
        }
        if let Item::Impl(block) = item {
            block.items.retain(|member| {
                let attributes = match member {
                    syn::ImplItem::Fn(member) => &member.attrs[..],
                    syn::ImplItem::Const(member) => &member.attrs[..],
                    _ => &[],
                };
                if !attributes.iter().any(is_for_tests) {
                    return true;
                }
                let span = syn::spanned::Spanned::span(member);
                for line in &mut lines[span.start().line - 1..span.end().line] {
                    line.clear();
                }
                false
            });
        }
        true
    });
}

fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            list.path.is_ident("cfg") && {
                let condition = list.tokens.to_string();
                condition == "test"
                    || condition.starts_with("all (test")
                    || condition.starts_with("all(test")
            }
        }
        Meta::NameValue(_) => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
