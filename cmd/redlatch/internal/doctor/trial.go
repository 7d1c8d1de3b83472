package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
)

var trialChecks = []*Check{
	{
		ID: "writes-refused", Level: Error, Page: "operating.md#single-server",
		Means: "The server refuses to write.",
		Do:    "Do what the server's answer asks for: free its disk (MISCONF), bring back its replicas (NOREPLICAS) or the missing slots (CLUSTERDOWN).",
		look: func(ctx context.Context, n *node) answer {
			t, err := n.trial(ctx)
			switch {
			case err != nil:
				return isUnknown(err)
			case t.write == nil, t.readOnly(), t.full():
				return isFine() // or another check's
			case t.denied():
				return isUnknown(n.denial(t.write))
			default:
				return isFound("%s", reason(t.write))
			}
		},
	},
	{
		ID: "memory-full", Level: Error, Page: "operating.md#client-settings",
		Means: "The server is out of memory: locks can be given back and renewed, but not taken.",
		Do:    "Raise maxmemory, or remove what fills it.",
		look: func(ctx context.Context, n *node) answer {
			t, err := n.trial(ctx)
			switch {
			case err != nil:
				return isUnknown(err)
			case t.full():
				return isFound("%s", reason(t.write))
			case t.write != nil:
				return isUnknown(n.denial(t.write))
			default:
				return isFine()
			}
		},
	},
	{
		ID: "no-scripts", Level: Error, Page: "operating.md#acl",
		Means: "The server does not execute scripts for this user.",
		Do:    "Permit EVAL and EVALSHA: ACL SETUSER <user> +eval +evalsha.",
		look: func(ctx context.Context, n *node) answer {
			t, err := n.trial(ctx)
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(t.script != nil, "%s", reasonOf(t.script))
		},
	},
}

// A trial is how the server answers to commands such as the library sends.
type trial struct {
	write  error            // of a key with a TTL
	script error            // of one that does nothing
	tried  map[string]error // by command, only those that were refused; nil if they were not tried
	keys   map[string]error // by key, the same
}

func (t trial) readOnly() bool { return redis.HasErrorPrefix(t.write, "READONLY") }
func (t trial) full() bool     { return redis.HasErrorPrefix(t.write, "OOM") }
func (t trial) denied() bool   { return isDenied(t.write) }

// isDenied tells that the user may not do it, or that the command is not there.
func isDenied(err error) bool {
	return err != nil && (redis.IsPermissionError(err) || isUnknownCommand(err))
}

// denial explains a refusal that a name with the right beginning might not have met.
func (n *node) denial(err error) error {
	if n.Prefix == "" && redis.IsPermissionError(err) {
		return errPrefix
	}
	return err
}

// keyTTL is how long a key lives that the doctor does not get to delete.
const keyTTL = 20 * time.Second

func (n *node) trial(ctx context.Context) (trial, error) {
	return n.trials.of(func() (t trial, err error) {
		if n.name == "" {
			return t, errName
		}
		t.script = n.client.Eval(ctx, "return 1", nil).Err()
		if sha := n.client.EvalSha(ctx, "0000000000000000000000000000000000000000", nil).Err(); t.script == nil && isDenied(sha) {
			t.script = sha
		}
		if t.script != nil && !isDenied(t.script) {
			return t, t.script
		}
		t.write = n.client.Set(ctx, n.name, "of redlatch doctor", keyTTL).Err()
		t.keys = n.tryKeys(ctx)
		if t.write == nil {
			t.tried = n.tryCommands(ctx)
			return t, nil
		}
		if refused, _ := refusal(t.write); refused == nil || redis.HasErrorPrefix(refused, "MOVED") {
			return t, t.write // the server said nothing of writing
		}
		return t, nil
	})
}

// families are the keys that objects of a name have, without which they do not work.
func families(name string) []string {
	return []string{name, keys.PermitTimeouts(name), keys.FairQueue(name), keys.FencingToken(name), keys.Lanes(name, "x"), keys.LatchRecord(name), keys.Readers(name)}
}

// spareFamilies are those without which objects are slower.
func spareFamilies(name string) []string {
	return []string{
		keys.LockRow(name), keys.LockRowKeys(name)[1], keys.SemaphoreRow(name), keys.ReadWriteRow(name), keys.GroupRow(name, "x"),
		keys.Moving(name),
	}
}

// reports are the keys by which a client says who it is. On a cluster they may belong to another master; this one looks at the
// rights first, and then answers MOVED.
func reports() []string {
	const client = "00000000-0000-8000-8000-000000000000"
	return []string{registry.Index("", registry.Bucket(client)), registry.Entry("", client)}
}

// tryKeys asks for the TTL of keys that are not there.
func (n *node) tryKeys(ctx context.Context) map[string]error {
	all := slices.Concat(families(n.name), spareFamilies(n.name), reports())
	commands := make([][]any, len(all))
	for i, key := range all {
		commands[i] = []any{"pttl", key}
	}
	refused := map[string]error{}
	for i, err := range n.together(ctx, commands) {
		if err != nil {
			refused[all[i]] = err
		}
	}
	return refused
}

// together sends commands in one round trip, and returns the error of each.
func (n *node) together(ctx context.Context, commands [][]any) []error {
	pipe := n.client.Pipeline()
	sent := make([]*redis.Cmd, len(commands))
	for i, c := range commands {
		sent[i] = pipe.Do(ctx, c...)
	}
	_ = dispatch.Exec(ctx, pipe) // each command has its own error
	errs := make([]error, len(commands))
	for i, c := range sent {
		if errs[i] = c.Err(); errs[i] == redis.Nil {
			errs[i] = nil
		}
	}
	return errs
}
