package doctor

import (
	"context"
	"strings"
)

var memoryChecks = []*Check{
	{
		ID: "eviction-all", Level: Error, Page: "operating.md#client-settings",
		Means: "The server may evict any key when memory is short: locks, semaphores, latches and tokens are lost.",
		Do:    "Set maxmemory-policy to noeviction, or keep locks on a server that is no cache.",
		look:  func(ctx context.Context, n *node) answer { return n.evicts(ctx, "allkeys-") },
	},
	{
		ID: "eviction-volatile", Level: Warn, Page: "operating.md#client-settings",
		Means: "The server may evict keys that have a TTL when memory is short, and every lock has one.",
		Do:    "Set maxmemory-policy to noeviction.",
		look:  func(ctx context.Context, n *node) answer { return n.evicts(ctx, "volatile-") },
	},
	{
		ID: "memory-high", Level: Warn, Page: "operating.md#client-settings",
		Means: "More than 90 % of the memory that the server may use is in use.",
		Do:    "Raise maxmemory, or remove what fills it, before locks can no longer be taken.",
		look: func(ctx context.Context, n *node) answer {
			share, err := n.memory(ctx)
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(share > 0.9, "%.0f %% in use", share*100)
		},
	},
}

func (n *node) evicts(ctx context.Context, policies string) answer {
	limit, err := n.number(ctx, "maxmemory")
	if err != nil {
		return isUnknown(err)
	}
	policy, err := n.info(ctx, "maxmemory_policy")
	if err != nil {
		return isUnknown(err)
	}
	// Without a limit nothing is evicted.
	return foundIf(limit > 0 && strings.HasPrefix(policy, policies), "maxmemory is %d MiB, and maxmemory-policy %s", limit>>20, oneLine(policy))
}

// memory is which share of what it may use the server uses: of maxmemory, or of the machine's where there is no limit.
func (n *node) memory(ctx context.Context) (float64, error) {
	used, err := n.number(ctx, "used_memory")
	if err != nil {
		return 0, err
	}
	limit, err := n.number(ctx, "maxmemory")
	if err != nil {
		return 0, err
	}
	if limit == 0 {
		if limit, err = n.number(ctx, "total_system_memory"); err != nil {
			return 0, err
		}
	}
	return float64(used) / float64(max(limit, 1)), nil
}
