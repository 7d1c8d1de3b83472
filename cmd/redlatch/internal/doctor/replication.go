package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var replicationChecks = []*Check{
	{
		ID: "replica-behind", Level: Warn, Page: "operating.md#replicas",
		Means: "A replica does not keep up with its master: locks would be lost if it took over.",
		Do:    "Look at the replica's log and load and at the network; raise repl-backlog-size if it copies everything again and again.",
		look:  replicaBehind,
	},
	{
		ID: "no-replicas", Level: Info, Page: "operating.md#replicas",
		Means: "The server has no replica, so nothing takes over if its machine fails.",
		Do:    "Add a replica with Sentinel or Cluster where an outage of that length matters; else leave it.",
		look: func(ctx context.Context, n *node) answer {
			replicas, err := n.number(ctx, "connected_slaves")
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(replicas == 0, "connected_slaves is 0")
		},
	},
}

func replicaBehind(ctx context.Context, n *node) answer {
	const (
		silent = 10 * time.Second
		behind = 10 << 20 // bytes
	)
	replicas, err := n.number(ctx, "connected_slaves")
	if err != nil {
		return isUnknown(err)
	}
	if replicas == 0 {
		return isBeside("there is no replica")
	}
	written, err := n.number(ctx, "master_repl_offset")
	if err != nil {
		return isUnknown(err)
	}
	var wrong []string
	for i := range replicas {
		text, err := n.info(ctx, fmt.Sprintf("slave%d", i))
		if err != nil {
			return isUnknown(err)
		}
		fields := map[string]string{}
		for field := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		who := oneLine(fields["ip"] + ":" + fields["port"])
		offset, _ := strconv.ParseInt(fields["offset"], 10, 64)
		lag, _ := strconv.ParseInt(fields["lag"], 10, 64)
		switch {
		case fields["state"] != "online":
			wrong = append(wrong, fmt.Sprintf("%s is %s", who, oneLine(fields["state"])))
		case time.Duration(lag)*time.Second > silent:
			wrong = append(wrong, fmt.Sprintf("%s was last heard of %d s ago", who, lag))
		case written-offset > behind:
			wrong = append(wrong, fmt.Sprintf("%s is %d MiB behind", who, (written-offset)>>20))
		}
	}
	return foundIf(len(wrong) > 0, "%s", strings.Join(wrong, ", "))
}
