package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	errPrefix = errors.New("the user may use only some names: say with --prefix how the names of your locks begin")
	errName   = errors.New("no name with this --prefix falls to this master")
)

var rightChecks = []*Check{
	{
		ID: "acl-commands", Level: Error, Page: "operating.md#acl",
		Means: "The user may not use a command that the locks need.",
		Do:    "Add the commands to the user: ACL SETUSER <user> +<command>, on every server.",
		look:  func(ctx context.Context, n *node) answer { return n.missingCommands(ctx, false) },
	},
	{
		ID: "acl-commands-optional", Level: Warn, Page: "operating.md#acl",
		Means: "The user may not use a command without which fair locks fail, or waiters of other locks are woken in vain.",
		Do:    "Add the commands to the user, or leave them out on purpose with --ignore acl-commands-optional.",
		look:  func(ctx context.Context, n *node) answer { return n.missingCommands(ctx, true) },
	},
	{
		ID: "acl-keys", Level: Error, Page: "operating.md#acl",
		Means: "The user may not use a key that belongs to a lock, semaphore or latch of the given prefix.",
		Do:    "Add the patterns of the documentation to the user: ACL SETUSER <user> ~<prefix>* ~{<prefix>* ~redisson_*:{<prefix>* ~redlatch_*:{<prefix>*.",
		look:  func(ctx context.Context, n *node) answer { return n.missingKeys(ctx, families(n.name)) },
	},
	{
		ID: "acl-keys-optional", Level: Warn, Page: "operating.md#acl",
		Means: "The user may not use the keys by which a lock is passed to one waiter, so a release wakes all of them.",
		Do:    "Add the pattern to the user: ACL SETUSER <user> ~redlatch_*:{<prefix>*.",
		look:  func(ctx context.Context, n *node) answer { return n.missingKeys(ctx, spareFamilies(n.name)) },
	},
	{
		ID: "acl-registry", Level: Info, Page: "operating.md#acl",
		Means: "The user may not use the keys in which clients say who they are, so nobody can see which process holds a lock.",
		Do:    "Add the pattern to the user: ACL SETUSER <user> ~redlatch_client*.",
		look:  func(ctx context.Context, n *node) answer { return n.missingKeys(ctx, reports()) },
	},
}

// needed are the commands of the documented user that are tried on a key of the doctor's, by what follows the key. The key is a
// string with a TTL, so a command for another type fails on it and writes nothing.
var needed = map[string][]any{
	"exists": nil, "type": nil, "pttl": nil, "get": nil, "hgetall": nil, "hlen": nil, "zcard": nil, "incr": nil,
	"pexpire": {keyTTL.Milliseconds()}, "incrby": {1}, "decrby": {1}, "hget": {"f"}, "hset": {"f", "v"}, "hexists": {"f"}, "hdel": {"f"},
	"zadd": {1, "m"}, "zcount": {0, 1}, "zincrby": {1, "m"}, "zrange": {0, 1}, "zrem": {"m"}, "zremrangebyscore": {0, 1}, "zscore": {"m"},
}

// spare are those that only some objects need, or for speed.
var spare = map[string][]any{
	"rpush": {"e"}, "lindex": {0}, "llen": nil, "lpop": nil, "lpos": {"e"}, "lrange": {0, 1}, "lrem": {0, "e"}, "zpopmin": nil,
}

// tryCommands returns the refusals. The key is there.
func (n *node) tryCommands(ctx context.Context) map[string]error {
	commands := [][]any{{"ping"}, {"time"}, {"persist", n.name + "_gone"}, {"pubsub", "numsub"}} // of the key itself persist would take the TTL
	for _, group := range []map[string][]any{needed, spare} {
		for command, args := range group {
			commands = append(commands, append([]any{command, n.name}, args...))
		}
	}
	commands = append(commands, []any{"del", n.name}) // if that is not permitted, the key goes by its TTL
	refused := map[string]error{}
	for i, err := range n.together(ctx, commands) {
		if err != nil {
			refused[commands[i][0].(string)] = err
		}
	}
	return refused
}

func (n *node) missingCommands(ctx context.Context, optional bool) answer {
	t, err := n.trial(ctx)
	if err != nil {
		return isUnknown(err)
	}
	if t.tried == nil {
		if t.denied() && aboutCommand(t.write) {
			if optional {
				return answer{unknown, "without SET the others were not tried"}
			}
			return isFound("set is missing: ACL SETUSER %s +set; without it the others were not tried", n.user(ctx))
		}
		return isUnknown(fmt.Errorf("the key to try them on could not be written: %w", n.denial(t.write)))
	}
	var missing, unsure []string
	for _, command := range slices.Sorted(maps.Keys(t.tried)) {
		_, isSpare := spare[command]
		switch err := t.tried[command]; {
		case (isSpare || command == "pubsub") != optional: // the other check tells of it
		case isUnknownCommand(err), redis.IsPermissionError(err) && aboutCommand(err):
			missing = append(missing, command)
		case errors.Is(err, context.DeadlineExceeded), redis.IsPermissionError(err):
			unsure = append(unsure, command)
		default: // WRONGTYPE, say, which is the answer of a command that may be used
			if refusal := redis.Error(nil); !errors.As(err, &refusal) {
				unsure = append(unsure, command)
			}
		}
	}
	switch {
	case len(missing) > 0:
		return isFound("%s missing: ACL SETUSER %s +%s", strings.Join(missing, ", "), n.user(ctx), strings.Join(missing, " +"))
	case len(unsure) > 0:
		return answer{unknown, "no answer to " + strings.Join(unsure, ", ")}
	default:
		return isFine()
	}
}

func (n *node) missingKeys(ctx context.Context, names []string) answer {
	t, err := n.trial(ctx)
	if err != nil {
		return isUnknown(err)
	}
	var missing []string
	for _, key := range names {
		err := t.keys[key]
		switch {
		case err == nil, redis.HasErrorPrefix(err, "MOVED"):
		case redis.IsPermissionError(err) && !aboutCommand(err) && n.Prefix == "" && strings.Contains(key, n.name):
			return isUnknown(errPrefix)
		case redis.IsPermissionError(err) && !aboutCommand(err):
			missing = append(missing, "~"+strings.ReplaceAll(key, n.name, n.Prefix+"*"))
		default:
			return isUnknown(needing("PTTL", err))
		}
	}
	return foundIf(len(missing) > 0, "no right to %s", strings.Join(missing, " "))
}

// aboutCommand tells a refusal of a command from one of a key or channel. The texts are those of 6.2 to 9.1.
func aboutCommand(err error) bool {
	return isUnknownCommand(err) || strings.Contains(err.Error(), " run the ")
}

// user is the name of the user, for the line that repairs it.
func (n *node) user(ctx context.Context) string {
	if name, err := n.client.Do(ctx, "acl", "whoami").Text(); err == nil {
		return oneLine(name)
	}
	if name := n.client.Options().Username; name != "" {
		return oneLine(name)
	}
	return "default"
}
