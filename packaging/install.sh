#!/usr/bin/env bash
# Installs a built program and what belongs to it. PREFIX and DESTDIR as usual; DESTDIR=stage makes a package's tree.
#
#   install.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$1
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}

if [ ! -x "$binary" ]; then
    echo "install: $binary is not there: run \`make build\` first, as a user of your own" >&2
    exit 1
fi
put() { install -D -m "$1" "$2" "$root$3"; }

put 755 "$binary" "$prefix/bin/windrose"

unit=$(mktemp)
pages=$(mktemp -d)
trap 'rm -rf "$unit" "$pages"' EXIT
sed "s|@BINDIR@|$prefix/bin|" "$here/windrose.service" >"$unit"
put 644 "$unit" "$prefix/lib/systemd/system/windrose.service"
put 644 "$here/windrose.tmpfiles" "$prefix/lib/tmpfiles.d/windrose.conf"
put 644 "$here/windrose.sysusers" "$prefix/lib/sysusers.d/windrose.conf"

# What an operator has written is not written over.
if [ ! -e "$root/etc/windrose/windrose.toml" ]; then
    install -d -m 755 "$root/etc/windrose"
    # It has a secret, hash_seed.
    put 640 "$here/windrose.toml" /etc/windrose/windrose.toml
fi

"$binary" paperwork man "$pages"
for page in "$pages"/*.1; do
    gzip -9n "$page"
    put 644 "$page.gz" "$prefix/share/man/man1/${page##*/}.gz"
done
completions() {
    "$binary" paperwork completions "$1" >"$pages/completion"
    put 644 "$pages/completion" "$prefix/share/$2"
}
completions bash bash-completion/completions/windrose
# Where Debian's zsh looks: packages and the local administrator each have a place.
if [ "$prefix" = /usr ]; then functions=vendor-completions; else functions=site-functions; fi
completions zsh "zsh/$functions/_windrose"
completions fish fish/vendor_completions.d/windrose.fish

doc=$prefix/share/doc/windrose
for file in "$here"/../README.md "$here"/../docs/*.md; do
    put 644 "$file" "$doc/${file##*/}"
done
put 644 "$here/net_af_xdp.conf" "$doc/net_af_xdp.conf"

if [ -z "$root" ]; then
    echo "installed below $prefix; then: systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload"
    echo "and, for members of the group: chgrp windrose /etc/windrose/windrose.toml"
fi
