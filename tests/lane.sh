#!/usr/bin/env bash
# tests/lane.sh live|rest PROGRAM...: how cargo starts the programs of tests for `make test`, which runs those in real time (`live`) beside
# the rest. Of one lane, since each loads controllers into the one kernel there is.
lane=live
case $PWD:$(basename "$2") in
*/firstflight-linux:it-* | *:real-*) ;;
*) lane=rest ;;
esac
[ "$lane" = "$1" ] || exit 0
shift
exec "$@"
