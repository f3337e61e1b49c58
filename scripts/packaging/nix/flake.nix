# SPDX-License-Identifier: Apache-2.0
#
# nix build 'git+file:///TREE?dir=scripts/packaging/nix'
#
# The two libraries of D3 for the page of kin report are in no package of
# nixpkgs.  The input d3 is a directory with d3-array/dist/d3-array.min.js and
# d3-hierarchy/dist/d3-hierarchy.min.js, such as Debian's packages node-d3-array
# and node-d3-hierarchy install, or node_modules of npm; another one:
# --override-input d3 path:/DIR
{
  description = "Filesystem that knows which of its files are alike";

  inputs.nixpkgs.url = "nixpkgs";
  inputs.d3 = {
    url = "path:/usr/share/nodejs";
    flake = false;
  };

  outputs = { self, nixpkgs, d3 }:
    let
      source = ../../..;
      makefile = builtins.readFile (source + "/Makefile");
      version = builtins.head
        (builtins.match ".*\nVERSION := ([0-9.]+)\n.*" makefile);

      kinfs = pkgs: pkgs.stdenv.mkDerivation {
        pname = "kinfs";
        inherit version;
        src = source;
        # scripts/deps asks for fusermount3, too.
        nativeBuildInputs = [ pkgs.fuse3 pkgs.pkg-config ];
        buildInputs = [
          pkgs.expat
          pkgs.fuse3
          pkgs.giflib
          pkgs.gmime3
          pkgs.icu
          pkgs.jansson
          pkgs.libarchive
          pkgs.libjpeg
          pkgs.libpng
          pkgs.libseccomp
          pkgs.libwebp
          pkgs.libxml2
          pkgs.lmdb
          pkgs.openssl
          pkgs.poppler
          (pkgs.libpq or pkgs.postgresql)
          (pkgs.xxhash or pkgs.xxHash)
          pkgs.zlib
          pkgs.zstd
        ];
        postPatch = "patchShebangs scripts";
        makeFlags = [ "PREFIX=${placeholder "out"}" "D3=${d3}" "CC=cc" ];
        enableParallelBuilding = true;
        meta = {
          description = "Filesystem that knows which of its files are alike";
          license = pkgs.lib.licenses.asl20;
          mainProgram = "kinfs";
          platforms = pkgs.lib.platforms.linux;
        };
      };

      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: builtins.listToAttrs (map
        (system: {
          name = system;
          value = make nixpkgs.legacyPackages.${system};
        })
        systems);
    in
    {
      packages = each (pkgs: { default = kinfs pkgs; });
    };
}
