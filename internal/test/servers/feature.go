package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Feature is what some servers have and others lack. Whether one has it is found out by asking it, never by its version:
// a Valkey 9.1 says that it is Redis 7.2.4.
type Feature struct {
	Name    string // as docs/servers.md calls it
	Without string // what the library does on a server that lacks it
	has     func(ctx context.Context, s *Server) (bool, error)
}

// Features is the one list of excuses: a test may be left out only for want of one of them.
var Features = []Feature{ShardedChannels, SlotsAtOnce, CodesInScripts, ReplicasForScripts}

// known asks whether a server has a command.
func known(command string) func(context.Context, *Server) (bool, error) {
	return func(ctx context.Context, s *Server) (bool, error) {
		reply, err := s.admin.Do(ctx, "command", "info", command).Slice()
		return err == nil && len(reply) == 1 && reply[0] != nil, err
	}
}

// SlotsAtOnce is CLUSTER MIGRATESLOTS, which moves a slot with its keys in one step.
var SlotsAtOnce = Feature{
	Name:    "slots that move at once",
	Without: "a slot moves key by key, and what has keys on both sides is asked for again until it is on one",
	has:     known("cluster|migrateslots"),
}

// ShardedChannels are SPUBLISH, SSUBSCRIBE and PUBSUB SHARDNUMSUB.
var ShardedChannels = Feature{
	Name: "sharded channels",
	Without: "messages on a cluster go to every node by PUBLISH, and a lock is passed on there only to processes that listen " +
		"at the same node",
	has: known("spublish"),
}

// CodesInScripts is that an error inside a script begins with its own code, WRONGTYPE say.
var CodesInScripts = Feature{
	Name:    "error codes of scripts",
	Without: "the code is looked for inside the text",
	has: func(ctx context.Context, s *Server) (bool, error) {
		err := s.admin.Eval(ctx, "return redis.call('hget', 'x')", nil).Err() // one argument too few
		if err == nil {
			return false, errors.New("it took a command without its arguments")
		}
		return !strings.Contains(err.Error(), "Error running script"), nil
	},
}

// ReplicasForScripts is that a server refuses the writes of scripts, too, while it has fewer replicas than
// min-replicas-to-write says.
var ReplicasForScripts = Feature{
	Name:    "min-replicas-to-write for scripts",
	Without: "the setting holds back no script; WithReplicas waits for replicas all the same",
	has: func(ctx context.Context, s *Server) (had bool, err error) {
		if err = s.admin.ConfigSet(ctx, "min-replicas-to-write", "100").Err(); err != nil {
			return false, err
		}
		err = s.admin.Eval(ctx, "return redis.call('set', KEYS[1], '', 'PX', '1')", []string{"redlatch:asks"}).Err()
		had = err != nil && redis.HasErrorPrefix(err, "NOREPLICAS")
		if had {
			err = nil
		}
		if reset := s.admin.ConfigSet(ctx, "min-replicas-to-write", "0").Err(); err == nil {
			err = reset
		}
		return had, err
	},
}

// Has asks the server. It may set and unset things of the server for that.
func (s *Server) Has(ctx context.Context, f Feature) (bool, error) {
	has, err := f.has(ctx, s)
	if err != nil {
		return false, fmt.Errorf("servers: ask %s for %s: %w", s.Addr(), f.Name, err)
	}
	return has, nil
}
