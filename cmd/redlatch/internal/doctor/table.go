package doctor

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// Table writes the report for people. On a terminal its lines are broken between words, but those that are to be copied.
func (r *Report) Table(out *terminal.Output) error {
	var b strings.Builder
	tell := func(first, indent, text string) {
		for _, line := range terminal.Wrap(out, first, indent, text) {
			b.WriteString(line + "\n")
		}
	}
	kind := map[string]string{"single": "one server", "sentinel": "a master under sentinels", "cluster": fmt.Sprintf("a cluster with %d masters", len(r.Masters))}
	fmt.Fprintf(&b, "%s: %s\n", oneLine(r.Server), kind[r.Topology])
	unseen := map[string][]string{} // checks by the reason why they could not be made
	for _, f := range r.Findings {
		if f.Result == Unknown {
			for _, p := range f.Places {
				if why := strings.TrimPrefix(p.Node+": "+p.Detail, ": "); !slices.Contains(unseen[why], f.ID) {
					unseen[why] = append(unseen[why], f.ID)
				}
			}
			continue
		}
		fmt.Fprintf(&b, "\n%-7s %s\n", strings.ToUpper(string(f.Level)), f.ID)
		tell(margin, margin, f.Means)
		for _, p := range f.Places {
			tell(margin+"- ", margin+"  ", strings.Trim(p.Node+": "+p.Detail, ": "))
		}
		tell(margin+"Do: ", margin, f.Do)
		fmt.Fprintf(&b, "%sSee %s\n", margin, f.Docs)
	}
	for _, why := range slices.Sorted(maps.Keys(unseen)) {
		b.WriteString("\n")
		if out.Width > 0 {
			tell("UNKNOWN ", margin, strings.Join(unseen[why], ", "))
		} else {
			fmt.Fprintf(&b, "UNKNOWN %s\n", wrap(unseen[why]))
		}
		tell(margin, margin, why)
	}
	fmt.Fprintf(&b, "\n%d fine, %d do not apply; %s\n", len(r.Fine), len(r.Beside), r.Counts)
	_, err := io.WriteString(out, b.String())
	return err
}

// margin is what stands before each line of a finding but the first.
const margin = "        "

func (c Counts) String() string {
	return fmt.Sprintf("%s, %s, %d unknown, %s", counted(c.Error, "error"), counted(c.Warn, "warning"), c.Unknown, counted(c.Info, "note"))
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// wrap puts words into lines of about a hundred columns, as far to the right as what a table says.
func wrap(words []string) string {
	const width = 92
	var b strings.Builder
	column := 0
	for i, word := range words {
		switch {
		case i == 0:
		case column+len(word) > width:
			b.WriteString(",\n        ")
			column = 0
		default:
			b.WriteString(", ")
		}
		b.WriteString(word)
		column += len(word) + 2
	}
	return b.String()
}
