package report

import (
	"fmt"
	"slices"
)

// glance sets redlatch beside the best of the other locks in every scenario.
func glance(w *text, r Results) {
	var lines [][]string
	for _, network := range r.networks() {
		for _, group := range []string{"own", "one", "wake"} {
			rows := r.rows(group, network)
			for _, title := range titles(rows) {
				ours, ok := find(rows, title, Ours)
				if !ok {
					continue
				}
				best, name := "-", ""
				if peer, ok := r.best(rows, title); ok {
					best, name = score(peer), peer.Library
				}
				lines = append(lines, []string{where[group] + ", " + title, network, "**" + score(ours) + "**", best, name})
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	w.line("\n## At a glance\n")
	w.line("Each figure is relative to the floor of its table below. The best of the other locks is the best fair one: " +
		"on one key, one whose Jain index is at least 0.9.\n")
	w.head("", "network", "redlatch", "best other lock", "")
	for _, line := range lines {
		w.row(line...)
	}
}

var where = map[string]string{"own": "own keys", "one": "one key", "wake": "waking up, less is better"}

// score is a ratio, with the fairness that belongs to it.
func score(row Row) string {
	if row.Group != "one" {
		return short(row.Ratio.Median)
	}
	return fmt.Sprintf("%s, Jain %s, p99 wait %s ms", short(row.Ratio.Median), short(row.Jain), millis(row.WaitP99))
}

func (r Results) best(rows []Row, title string) (best Row, ok bool) {
	for _, row := range rows {
		if row.Title != title || r.class(row) != "peer" || row.Group == "one" && row.Jain < fairEnough {
			continue
		}
		better := row.Ratio.Median > best.Ratio.Median
		if row.Group == "wake" {
			better = row.Ratio.Median < best.Ratio.Median
		}
		if !ok || better {
			best, ok = row, true
		}
	}
	return best, ok
}

// lock tells whether a library is one.
func (r Results) lock(name string) bool {
	return slices.ContainsFunc(r.Libraries, func(l Library) bool { return l.Name == name && l.Lock })
}
