package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
)

var reachChecks = []*Check{
	{
		ID: "unreachable", Level: Error, Page: "operating.md#client-settings",
		Means: "A server cannot be reached, or does not answer.",
		Do:    "Start the server, or correct the address, the firewall or the TLS settings.",
		look: func(_ context.Context, n *node) answer {
			return foundIf(n.up != nil && !isRefused(n.up) && !isDatabase(n.up), "%s", reasonOf(n.up))
		},
	},
	{
		ID: "refused", Level: Error, Page: "operating.md#acl",
		Means: "The server refuses the user or the password.",
		Do:    "Give the right user and password, or make the user with ACL SETUSER on every server.",
		look:  func(_ context.Context, n *node) answer { return reached(n, isRefused) },
	},
	{
		ID: "database", Level: Error, Page: "operating.md#cluster",
		Means: "The server does not have the database that the URL asks for; a cluster has only 0.",
		Do:    "Leave the number of the database out, and connect to a cluster by redis+cluster://.",
		look:  func(_ context.Context, n *node) answer { return reached(n, isDatabase) },
	},
	{
		ID: "round-trip", Level: Warn, Page: "performance.md",
		Means: "Commands take long: the 99th percentile of their round trips is above the limit.",
		Do:    "Bring the programs nearer to the server, look for what keeps it or the network busy, or set longer leases and --rtt.",
		look: func(_ context.Context, n *node) answer {
			if n.up != nil {
				return isUnknown(n.up)
			}
			p99 := percentile(n.trips, 99)
			return foundIf(p99 > n.RoundTrip, "%v of %d round trips, the limit is %v", p99.Round(time.Millisecond/10), len(n.trips), n.RoundTrip)
		},
	},
}

func isReachCheck(c *Check) bool { return slices.Contains(reachChecks, c) }

// reached is the answer of a check that looks for one reason why a server does not execute commands.
func reached(n *node, is func(error) bool) answer {
	switch {
	case n.up == nil:
		return isFine()
	case is(n.up):
		return isFound("%s", reason(n.up))
	default:
		return isUnknown(n.up)
	}
}

// reasonOf is why a server cannot be reached, in the words of the other commands.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(connect.Explain(err).Error())
}

// At most so many round trips are measured, and for so long.
const (
	mostTrips    = 100
	longestTrips = time.Second
)

// reach finds out whether the server executes commands, and how long that takes.
func (n *node) reach(ctx context.Context) {
	if n.up != nil {
		return
	}
	if n.up = n.ping(ctx); n.up != nil { // and connects, which is not measured
		return
	}
	for began := time.Now(); len(n.trips) < mostTrips && time.Since(began) < longestTrips; {
		sent := time.Now()
		if n.up = n.ping(ctx); n.up != nil {
			return
		}
		n.trips = append(n.trips, time.Since(sent))
	}
	slices.Sort(n.trips)
}

// ping is nil if the server takes commands, even if not this one.
func (n *node) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	err := n.client.Ping(ctx).Err()
	if refused, _ := refusal(err); refused != nil && !isRefused(err) && !isDatabase(err) {
		for _, code := range []string{"NOPERM", "BUSY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "MISCONF", "OOM"} {
			if redis.HasErrorPrefix(err, code) {
				return nil
			}
		}
	}
	return err
}

func isRefused(err error) bool {
	return err != nil && (redis.IsAuthError(err) || strings.Contains(err.Error(), "AUTH"))
}

func isDatabase(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "SELECT is not allowed in cluster mode") ||
		strings.Contains(err.Error(), "DB index is out of range"))
}

// percentile is of times in order, by the nearest rank.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
