//! Which file uses which, by the paths that it names: imports, types, expressions and the
//! arguments of macros. A re-export counts as a use of the file that defines the name, by the file
//! that names it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use crate::architecture::sources::{ModulePath, SourceFile};

/// A name in a module and the path that it stands for.
struct Alias {
    /// `None` for a glob import.
    name: Option<String>,
    path: ModulePath,
}

/// What resolves names in one module.
struct Scope {
    defined: BTreeSet<String>,
    aliases: Vec<Alias>,
}

/// The names that one file uses, by the file that defines them.
pub type UsedFiles = BTreeMap<ModulePath, BTreeSet<String>>;

/// The uses of files by files.
pub struct ImportGraph {
    /// The names used, by using file and used file, as module paths.
    pub uses: BTreeMap<ModulePath, UsedFiles>,
}

impl ImportGraph {
    /// Reads the graph from the sources.
    pub fn new(files: &BTreeMap<ModulePath, SourceFile>) -> Self {
        let scopes: BTreeMap<_, _> = files
            .iter()
            .map(|(module, file)| (module.clone(), scope(module, file)))
            .collect();
        let uses = files
            .iter()
            .map(|(module, file)| (module.clone(), used_files(module, file, &scopes)))
            .collect();
        Self { uses }
    }

    /// Groups of files that use each other, directly or through others.
    pub fn cycles(&self) -> Vec<Vec<ModulePath>> {
        let modules: Vec<&ModulePath> = self.uses.keys().collect();
        let reachable: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = modules
            .iter()
            .map(|module| (*module, self.reachable(module)))
            .collect();
        let mut seen: BTreeSet<&ModulePath> = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in &modules {
            if seen.contains(*module) || !reachable[*module].contains(module) {
                continue;
            }
            let group: Vec<ModulePath> = reachable[*module]
                .iter()
                .filter(|other| reachable[**other].contains(module))
                .map(|other| (*other).clone())
                .collect();
            seen.extend(
                modules
                    .iter()
                    .copied()
                    .filter(|other| group.contains(other)),
            );
            cycles.push(group);
        }
        cycles
    }

    fn reachable(&self, from: &ModulePath) -> BTreeSet<&ModulePath> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&ModulePath> = self.uses[from].keys().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module) {
                open.extend(self.uses[module].keys());
            }
        }
        reached
    }
}

fn scope(module: &ModulePath, file: &SourceFile) -> Scope {
    let mut scope = Scope {
        defined: BTreeSet::new(),
        aliases: Vec::new(),
    };
    for item in &file.items {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(item) => match &item.ident {
                Some(name) => name,
                None => continue,
            },
            Item::Use(item) => {
                flatten(&item.tree, Vec::new(), module, &mut scope.aliases);
                continue;
            }
            _ => continue,
        };
        scope.defined.insert(name.to_string());
    }
    scope
}

/// Adds the names of a `use` tree; paths outside of the crate are left out.
fn flatten(tree: &UseTree, mut prefix: Vec<String>, module: &ModulePath, aliases: &mut Vec<Alias>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, module, aliases);
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix.clone(), module, aliases);
            }
        }
        UseTree::Name(name) if name.ident == "self" => {
            let alias = prefix.last().cloned();
            aliases.extend(absolute(&prefix, module).map(|path| Alias { name: alias, path }));
        }
        UseTree::Name(name) => {
            prefix.push(name.ident.to_string());
            let alias = Some(name.ident.to_string());
            aliases.extend(absolute(&prefix, module).map(|path| Alias { name: alias, path }));
        }
        UseTree::Rename(rename) => {
            if rename.ident != "self" {
                prefix.push(rename.ident.to_string());
            }
            let alias = Some(rename.rename.to_string());
            aliases.extend(absolute(&prefix, module).map(|path| Alias { name: alias, path }));
        }
        UseTree::Glob(_) => {
            aliases.extend(absolute(&prefix, module).map(|path| Alias { name: None, path }));
        }
    }
}

/// A path from the crate's root, where it begins with `crate`, `self` or `super`.
fn absolute(path: &[String], module: &ModulePath) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    let mut rest = rest;
    while let Some((first, more)) = rest.split_first()
        && first == "super"
    {
        base.pop();
        rest = more;
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// The file that defines what an absolute path names, and the name there.
fn defining_file(
    path: &[String],
    scopes: &BTreeMap<ModulePath, Scope>,
    depth: u32,
) -> (ModulePath, String) {
    let mut module: ModulePath = Vec::new();
    let mut rest = path;
    while let Some((name, more)) = rest.split_first() {
        let child: ModulePath = module.iter().chain([name]).cloned().collect();
        if scopes.contains_key(&child) {
            module = child;
            rest = more;
            continue;
        }
        let scope = &scopes[&module];
        if scope.defined.contains(name) || depth == 0 {
            break;
        }
        let named = |alias: &&Alias| alias.name.as_ref() == Some(name);
        if let Some(alias) = scope.aliases.iter().find(named) {
            let path: Vec<String> = alias.path.iter().chain(more).cloned().collect();
            return defining_file(&path, scopes, depth - 1);
        }
        for alias in scope.aliases.iter().filter(|alias| alias.name.is_none()) {
            let path: Vec<String> = alias.path.iter().chain([name]).cloned().collect();
            let (file, found) = defining_file(&path, scopes, depth - 1);
            if scopes[&file].defined.contains(&found) {
                return (file, found);
            }
        }
        break;
    }
    let name = rest.first().cloned().unwrap_or_default();
    (module, name)
}

fn used_files(
    module: &ModulePath,
    file: &SourceFile,
    scopes: &BTreeMap<ModulePath, Scope>,
) -> UsedFiles {
    let mut collector = PathCollector {
        module: module.clone(),
        paths: Vec::new(),
    };
    for item in &file.items {
        collector.visit_item(item);
    }
    let scope = &scopes[module];
    let mut used = UsedFiles::new();
    for path in collector.paths {
        let first = &path[0];
        let alias = scope
            .aliases
            .iter()
            .find(|alias| alias.name.as_ref() == Some(first));
        let child: ModulePath = module.iter().chain([first]).cloned().collect();
        let full = if let Some(full) = absolute(&path, &collector.module) {
            full
        } else if let Some(alias) = alias {
            alias.path.iter().chain(&path[1..]).cloned().collect()
        } else if scopes.contains_key(&child) && path.len() > 1 {
            module.iter().chain(&path).cloned().collect()
        } else {
            continue;
        };
        let (file, name) = defining_file(&full, scopes, 8);
        used.entry(file).or_default().insert(name);
    }
    used.remove(module);
    used
}

/// Collects the paths that a file names, except those that it only re-exports.
struct PathCollector {
    module: ModulePath,
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for PathCollector {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        let mut aliases = Vec::new();
        flatten(&item.tree, Vec::new(), &self.module, &mut aliases);
        for alias in aliases {
            let path = std::iter::once("crate".to_owned()).chain(alias.path);
            self.paths.push(path.collect());
        }
    }

    /// The path of `pub(in ...)` is no use.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.paths.push(words.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.visit_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

impl PathCollector {
    /// Collects `a::b::c` from tokens that are not parsed.
    fn visit_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.paths
                            .extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.paths
                        .extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.visit_tokens(group.stream());
                    }
                }
            }
        }
        self.paths.extend((!path.is_empty()).then_some(path));
    }
}
