# Sourced by what compiles against ns-3, from the root of the checkout, with `target` set.
# Headers and libraries of the wheel lie beside its Python modules, which need packages that we do not; the version is part of the names of the libraries.
wheel() {
    home=$target/ns3-wheel
    [ -x "$home/bin/pip" ] || python3 -m venv "$home" || return 1
    "$home/bin/pip" install --quiet --disable-pip-version-check --upgrade --no-deps ns3 || return 1
    home=$(cd "$home" && pwd)
    for core in "$home"/lib*/python*/site-packages/ns3/lib*/libns3*-core.so; do
        libraries=$(dirname "$core")
        version=${core##*/lib}
        version=${version%-core.so}
    done
    [ -e "$core" ] || return 1
    NS3_STD=c++20
    NS3_FLAGS="-I${libraries%/*}/include -L$libraries -Wl,-rpath,$libraries -Wl,--allow-shlib-undefined"
    for module in core network internet point-to-point applications traffic-control; do
        NS3_FLAGS="$NS3_FLAGS -l$version-$module"
    done
    echo "ns-3 from the wheel: $("$home/bin/pip" list --disable-pip-version-check 2>/dev/null | grep '^ns3 ')"
}
