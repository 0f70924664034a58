{
  # nix build 'git+file:///path/of/the/sources?dir=assets/package'
  description = "Live view of disk I/O, and drive benchmarks";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forEach = function: nixpkgs.lib.genAttrs systems (system: function nixpkgs.legacyPackages.${system});
      cargo = builtins.fromTOML (builtins.readFile ../../Cargo.toml);
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = cargo.package.name;
          version = cargo.package.version;
          src = ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          buildType = "dist";
          # The tests want loop devices, a terminal and /sys.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/diskscope manual > diskscope.1
            installManPage diskscope.1
            installShellCompletion --cmd diskscope \
              --bash <($out/bin/diskscope completions bash) \
              --zsh <($out/bin/diskscope completions zsh) \
              --fish <($out/bin/diskscope completions fish)
          '';
          meta = {
            description = cargo.package.description;
            license = pkgs.lib.licenses.mit;
            mainProgram = "diskscope";
            platforms = pkgs.lib.platforms.linux;
          };
        };
      });
    };
}
