package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
)

var serverChecks = []*Check{
	{
		ID: "version", Level: Error, Page: "servers.md",
		Means: "The server is older than Redis 6.2.",
		Do:    "Upgrade to Redis 6.2 or newer, or to Valkey.",
		look: func(ctx context.Context, n *node) answer {
			version, err := n.hello(ctx, "version")
			if err != nil {
				version, err = n.info(ctx, "redis_version")
			}
			if err != nil {
				return isUnknown(err)
			}
			var major, minor int
			if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
				return answer{unknown, "its version is " + oneLine(version)}
			}
			return foundIf(major < 6 || major == 6 && minor < 2, "version %d.%d", major, minor)
		},
	},
	{
		ID: "replica", Level: Error, Page: "operating.md#sentinel",
		Means: "The server is a replica: it takes no locks, and what it shows may be old.",
		Do:    "Connect to the master, or by redis+sentinel:// or redis+cluster://, which find it.",
		look: func(ctx context.Context, n *node) answer {
			role, err := n.hello(ctx, "role")
			if err != nil {
				role, err = n.info(ctx, "role")
			}
			if t, refused := n.trial(ctx); refused == nil && t.readOnly() {
				return isFound("it refuses writes: %s", reason(t.write))
			}
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(role == "replica" || role == "slave", "its role is %s", oneLine(role))
		},
	},
	{
		ID: "cluster-as-single", Level: Error, Page: "operating.md#cluster",
		Means: "The server is one node of a cluster, and the client takes it for a single server.",
		Do:    "Connect by redis+cluster://, in programs with redis.NewClusterClient.",
		look: func(ctx context.Context, n *node) answer {
			if n.cluster() {
				return isBeside("the client knows that it is a cluster")
			}
			mode, err := n.hello(ctx, "mode")
			if err != nil {
				mode, err = n.info(ctx, "redis_mode")
			}
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(mode == "cluster", "its mode is cluster")
		},
	},
	{
		ID: "several-masters", Level: Error, Page: "guarantees.md",
		Means: "The product takes writes on several masters and merges them later, so a lock can have two holders.",
		Do:    "Keep locks on a server with one master: a database that is not active-active.",
		look: func(ctx context.Context, n *node) answer {
			fields, err := n.allInfo(ctx)
			if err != nil {
				return isUnknown(err)
			}
			if fields["role"] == "active-replica" || strings.HasPrefix(fields["active_replica"], "1") {
				return isFound("KeyDB with active replicas")
			}
			modules, _ := n.hello(ctx, "modules")
			for name, value := range fields {
				if strings.HasPrefix(name, "crdt") || name == "module" && strings.Contains(value, "name=crdt") {
					return isFound("an active-active database")
				}
			}
			return foundIf(strings.Contains(modules, "crdt"), "an active-active database")
		},
	},
	{
		ID: "slow-commands", Level: Warn, Page: "performance.md",
		Means: "A command kept the server busy for more than 500 ms in the last day; everything else waited, renewals too.",
		Do:    "Find the program that sent it with SLOWLOG GET, and make it send smaller ones (SCAN in place of KEYS, UNLINK of DEL).",
		look:  slowCommands,
	},
}

func slowCommands(ctx context.Context, n *node) answer {
	const limit, day = 500 * time.Millisecond, 24 * time.Hour
	entries, err := n.client.SlowLogGet(ctx, 128).Result()
	if err != nil {
		return isUnknown(needing("SLOWLOG", err))
	}
	longest, count, name := time.Duration(0), 0, ""
	for _, entry := range entries {
		if entry.Duration > limit && time.Since(entry.Time) < day {
			count++
			if entry.Duration > longest && len(entry.Args) > 0 {
				longest, name = entry.Duration, oneLine(entry.Args[0]) // alone: the arguments may be secret
			}
		}
	}
	if count > 0 {
		return isFound("%d of them, the longest was %s with %v", count, strings.ToUpper(name), longest.Round(time.Millisecond))
	}
	text, err := n.setting(ctx, "slowlog-log-slower-than")
	if err != nil {
		return isUnknown(err) // whether such commands would be there
	}
	var threshold int64
	if _, err := fmt.Sscan(text, &threshold); err != nil || threshold < 0 || threshold > limit.Microseconds() {
		return answer{unknown, "slowlog-log-slower-than is " + oneLine(text) + ", so the server does not write them down"}
	}
	return isFine()
}
