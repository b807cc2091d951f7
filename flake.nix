# nix run github:firstflight/firstflight -- compare
{
  description = "Compare slow start and loss recovery of TCP and QUIC";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      about = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "firstflight";
          inherit (about) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [
            "-p"
            "firstflight-cli"
          ];
          buildType = "dist";
          # The tests need a checkout and, in part, root.
          doCheck = false;
          FIRSTFLIGHT_COMMIT = self.shortRev or "dirty";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/firstflight man man/
            installManPage man/*.1
            for shell in bash fish zsh; do
              installShellCompletion --cmd firstflight --$shell <($out/bin/firstflight completions $shell)
            done
          '';
          meta = {
            description = "Compare slow start and loss recovery of TCP and QUIC";
            homepage = about.repository;
            license = with pkgs.lib.licenses; [
              mit
              asl20
            ];
            mainProgram = "firstflight";
          };
        };
      });
      # `nix flake check` builds the program and asks it for a comparison.
      checks = each (pkgs: {
        compare = pkgs.runCommand "compare" { } "${self.packages.${pkgs.system}.default}/bin/firstflight compare > $out";
      });
    };
}
