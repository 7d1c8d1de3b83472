package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

var clientChecks = []*Check{
	{
		ID: "client-versions", Level: Info, Page: "operating.md#the-registry",
		Means: "Clients that use locks now have different versions of the same library.",
		Do:    "Nothing while a new version is being rolled out; else find the processes that were left behind with redlatch ls -o json.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.amongClients(ctx, func(c *fleet.Client) (library, version string) {
				library, version, _ = strings.Cut(c.Library, " ")
				return library, version
			})
		},
	},
	{
		ID: "client-timeouts", Level: Info, Page: "operating.md#the-registry",
		Means: "Clients of one program have different watchdog timeouts, so after a crash their locks stay taken for different times.",
		Do:    "Nothing if it is meant; else give all processes of the program the same WithWatchdogTimeout.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.amongClients(ctx, func(c *fleet.Client) (program, timeout string) {
				if c.Timeout == 0 {
					return "", ""
				}
				return c.Program, c.Timeout.String()
			})
		},
	},
}

// amongClients looks for clients that should be alike and are not. What they are says of each to what it belongs, and what it has of its
// own; a client that does not say one of them, or that is probably dead, is passed over.
func (p *patient) amongClients(ctx context.Context, what func(*fleet.Client) (group, own string)) answer {
	return p.inFleet(ctx, func(r *fleet.Report) (found []string) {
		counts := map[string]map[string]int{}
		for _, c := range r.Clients {
			group, own := what(c)
			if group == "" || own == "" || c.Silent() {
				continue
			}
			if counts[group] == nil {
				counts[group] = map[string]int{}
			}
			counts[group][own]++
		}
		for _, group := range slices.Sorted(maps.Keys(counts)) {
			if len(counts[group]) > 1 {
				var each []string
				for _, own := range slices.Sorted(maps.Keys(counts[group])) {
					each = append(each, fmt.Sprintf("%d with %s", counts[group][own], terminal.Clean(own)))
				}
				found = append(found, terminal.Clean(group)+": "+strings.Join(each, ", "))
			}
		}
		return found
	})
}
