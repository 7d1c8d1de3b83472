package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/internal/keys"
)

var clusterChecks = []*Check{
	{
		ID: "slots-uncovered", Level: Error, Page: "operating.md#cluster",
		Means: "No master answers for some slots, and locks whose names fall there cannot be taken.",
		Do:    "Assign the slots, or bring back the master that had them: redis-cli --cluster fix.",
		look: func(ctx context.Context, n *node) answer {
			if !n.cluster() {
				return isBeside("it is no cluster")
			}
			info, err := n.client.ClusterInfo(ctx).Result()
			if err != nil {
				return isUnknown(needing("CLUSTER INFO", err))
			}
			var covered int
			_, rest, ok := strings.Cut(info, "cluster_slots_ok:")
			if _, err := fmt.Sscan(rest, &covered); !ok || err != nil {
				return answer{unknown, "CLUSTER INFO has no cluster_slots_ok"}
			}
			return foundIf(covered < keys.Slots, "%d of %d slots", keys.Slots-covered, keys.Slots)
		},
	},
	{
		ID: "slot-half-moved", Level: Warn, Page: "operating.md#cluster",
		Means: "A slot is on its way from one master to another; until it has arrived, some locks of it cannot be used.",
		Do:    "Let the move end; if none is under way any more, end it with redis-cli --cluster fix.",
		look: func(ctx context.Context, n *node) answer {
			return n.ofCluster(ctx, func(flags string, fields []string) string {
				if !strings.Contains(flags, "myself") {
					return ""
				}
				for _, slots := range fields {
					if strings.HasPrefix(slots, "[") {
						return oneLine(slots)
					}
				}
				return ""
			})
		},
	},
	{
		ID: "node-failed", Level: Warn, Page: "operating.md#cluster",
		Means: "A node of the cluster does not answer the others.",
		Do:    "Start the node again, or remove it from the cluster with CLUSTER FORGET.",
		look: func(ctx context.Context, n *node) answer {
			return n.ofCluster(ctx, func(flags string, fields []string) string {
				if strings.Contains(flags, "fail") && !strings.Contains(flags, "nofailover") {
					address, _, _ := strings.Cut(fields[1], "@")
					return oneLine(address)
				}
				return ""
			})
		},
	},
}

// ofCluster looks at each line of CLUSTER NODES; what wrong returns is found.
func (n *node) ofCluster(ctx context.Context, wrong func(flags string, fields []string) string) answer {
	if !n.cluster() {
		return isBeside("it is no cluster")
	}
	text, err := n.client.ClusterNodes(ctx).Result()
	if err != nil {
		return isUnknown(needing("CLUSTER NODES", err))
	}
	var all []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 7 {
			if said := wrong(fields[2], fields); said != "" {
				all = append(all, said)
			}
		}
	}
	return foundIf(len(all) > 0, "%s", strings.Join(all, ", "))
}
