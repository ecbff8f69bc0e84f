#!/usr/bin/env bash
# Makes a Debian package of a built program, and prints its name.
#
#   deb.sh BINARY DIRECTORY
#
# With what every Debian has (dpkg-dev): the tree is what `make install` makes, so that there is one list of files.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$1
out=$2

# The same package from the same revision.
when=$(git -C "$here" log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$when}

version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
# mktemp's directory is private; a package's root is not.
install -d -m 755 "$stage"

DESTDIR=$stage PREFIX=/usr "$here/install.sh" "$binary"
strip --strip-unneeded "$stage/usr/bin/windrose"

doc=$stage/usr/share/doc/windrose
install -m 644 "$here/../CHANGELOG.md" "$doc/CHANGELOG.md"
gzip -9n >"$doc/changelog.gz" <<END
windrose ($version) unstable; urgency=medium

  * What changed: /usr/share/doc/windrose/CHANGELOG.md

 -- The Windrose developers <windrose@example.org>  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
install -m 644 "$here/debian/copyright" "$doc/copyright"

install -D -m 644 "$here/debian/lintian-overrides" "$stage/usr/share/lintian/overrides/windrose"

# Which packages the program's libraries are in.
mkdir -p "$work/debian" "$stage/DEBIAN"
printf 'Source: windrose\n\nPackage: windrose\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O -e "$stage/usr/bin/windrose" 2>"$work/shlibdeps" | sed -n 's/^shlibs:Depends=//p')
if [ -z "$libraries" ]; then
    cat "$work/shlibdeps" >&2
    exit 1
fi

size=$(du -k -s --exclude=DEBIAN "$stage" | cut -f 1)
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/; s/@LIBRARIES@/$libraries/" \
    "$here/debian/control.in" >"$stage/DEBIAN/control"
echo /etc/windrose/windrose.toml >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$here/debian/$script" "$stage/DEBIAN/$script"
done
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)

mkdir -p "$out"
package=$out/windrose_${version}_$architecture.deb
dpkg-deb --root-owner-group --build -Zxz "$stage" "$package" >/dev/null
echo "$package"
