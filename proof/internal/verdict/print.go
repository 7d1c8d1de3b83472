package verdict

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/proof/internal/models"
)

// shown is how many findings are printed with their records.
const shown = 10

// Print writes the verdict for a reader.
func (v Verdict) Print(w io.Writer) error {
	var b strings.Builder
	c := v.Counts
	fmt.Fprintf(&b, "%s %s: seed %d, %s, %s, commit %s, sources %s\n", v.Verdict, v.Folder, v.Run.Seed, v.Run.Topology, v.Run.Server, v.Run.Commit, v.Run.Sources)
	fmt.Fprintf(&b, "%d operations on %d objects in %.1f s; %d calm grants, %d under faults, %d operations there undisturbed; %d outages, %d acts from outside, %d outcomes unknown, %d overlaps excused\n",
		c.Operations, c.Objects, c.Seconds, c.Calm, c.Faulty, c.Undisturbed, c.Outages, c.Outside, c.Unknown, c.Excused)
	b.WriteString("models:")
	for _, verdict := range slices.Sorted(maps.Keys(c.Models)) {
		fmt.Fprintf(&b, " %d %s", c.Models[verdict], models.Verdict(verdict))
	}
	b.WriteString("\n")
	for _, why := range v.Why {
		fmt.Fprintf(&b, "invalid: %s\n", why)
	}
	for i, f := range v.Findings {
		fmt.Fprintf(&b, "%s: %s: %s\n", f.Check, f.Object, f.Text)
		if i >= shown {
			continue
		}
		for _, r := range f.Records {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
