#!/bin/sh
# Makes the secrets of compose.yaml in deploy/secrets/, those that are not there yet; none is ever replaced.
# The folder is readable by its owner alone. The files in it are readable by all, because each container reads its own as
# the user of its program, and Compose mounts them as they are.
set -eu
folder="$(dirname "$0")/secrets"
umask 077
mkdir -p "$folder"
cd "$folder"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# The file gets its name when it is complete. Its content comes from standard input.
keep() {
  if [ -e "$1" ]; then
    cat >/dev/null
    return
  fi
  cat >"$1.new"
  chmod 444 "$1.new"
  mv "$1.new" "$1"
}

random | keep postgres-password
printf 'postgres://atrium:%s@postgres:5432/atrium' "$(cat postgres-password)" | keep database-url
random | keep store-access-key
random | keep store-secret-key
random | keep search-key
printf 'master_key = "%s"\n' "$(cat search-key)" | keep search.toml
random | keep nats-password
random | keep nats-route-password
user="atrium:$(cat nats-password)"
printf 'nats://%s@nats-1:4222,nats://%s@nats-2:4222,nats://%s@nats-3:4222' "$user" "$user" "$user" | keep nats-url
route="route:$(cat nats-route-password)"
keep nats.conf <<END
PASSWORD: "$(cat nats-password)"
ROUTE_PASSWORD: "$(cat nats-route-password)"
ROUTES: ["nats-route://$route@nats-1:6222", "nats-route://$route@nats-2:6222", "nats-route://$route@nats-3:6222"]
END
random | keep first-key
