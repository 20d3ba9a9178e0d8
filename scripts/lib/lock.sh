# shellcheck shell=bash
# One script at a time where two would write the same files. Sourced, never run.

# lock DESCRIPTOR FILE PLACE: waits until nobody else holds FILE, and says who does. Held until the
# descriptor is closed by us and by every program that we have started: what a killed script has left
# running still writes.
lock() {
  local descriptor=$1 file=$2 place=$3 status
  # Appending: the holder's name must not go before he does.
  if ! eval "exec $descriptor>>\"\$file\""; then
    say "cannot lock $place; continuing without a lock"
    return
  fi
  flock -n -E 75 "$descriptor"
  status=$?
  if [[ $status -eq 75 ]]; then
    say "waiting: $(tail -n 1 "$file") is at work in $place"
    # In short turns, between which the shell acts on signals.
    until flock -w 1 "$descriptor"; do :; done
  elif [[ $status -ne 0 ]]; then
    say "cannot lock $place; continuing without a lock"
  fi
  printf '%s (process %d, since %s)\n' "${0##*/}" $$ "$(date '+%F %T')" >"$file"
}
