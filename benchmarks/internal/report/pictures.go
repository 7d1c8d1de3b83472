package report

import "fmt"

// fairEnough is the Jain index below which speed on one key is not counted.
const fairEnough = 0.9

// Pictures draws what is worth seeing, by file name.
func Pictures(r Results) map[string]string {
	files := map[string]string{}
	draw := func(name, network string, c chart) {
		if len(c.groups) > 0 {
			files[name+"-"+network+".svg"] = c.svg()
		}
	}
	for _, network := range r.networks() {
		draw("own-keys", network, ownKeys(r, network))
		draw("one-key", network, oneKey(r, network))
		draw("waits", network, waits(r, network))
		draw("wake-up", network, wakeUp(r, network))
	}
	return files
}

func ownKeys(r Results, network string) chart {
	return chart{
		title:    "Own keys: taking and giving back, " + network,
		subtitle: "times the pairs per second of two bare go-redis EVALSHA; more is better; pale bars are no locks",
		mark:     1,
		groups: groups(r, r.rows("own", network), func(row Row) bar {
			b := relative(row)
			b.text = short(b.value)
			return b
		}),
	}
}

func oneKey(r Results, network string) chart {
	return chart{
		title:    "One key: sections per second, " + network,
		subtitle: "times those of a local queue with bare EVALSHA and pub/sub; more is better; hollow bars are unfair (Jain below 0.9)",
		mark:     1,
		groups: groups(r, r.rows("one", network), func(row Row) bar {
			b := relative(row)
			b.hatched = row.Jain < fairEnough
			b.text = fmt.Sprintf("%s, Jain %s", short(b.value), short(row.Jain))
			return b
		}),
	}
}

// relative draws the ratio. The floor's is 1 by definition, and its spread is the noise.
func relative(row Row) bar {
	b := bar{value: row.Ratio.Median, low: row.Ratio.Q1, high: row.Ratio.Q3}
	if row.Floor {
		b.value = 1
	}
	return b
}

func waits(r Results, network string) chart {
	return chart{
		title:    "One key: how long the slowest wait, " + network,
		subtitle: "99th percentile of the waits in milliseconds; less is better",
		groups: groups(r, r.rows("one", network), func(row Row) bar {
			return bar{value: row.WaitP99 / 1e3, text: millis(row.WaitP99) + " ms"}
		}),
	}
}

func wakeUp(r Results, network string) chart {
	return chart{
		title:    "Waking a waiter of another client, " + network,
		subtitle: "from the call that gives back to the return of the one that takes, in milliseconds; less is better",
		groups: groups(r, r.rows("wake", network), func(row Row) bar {
			return bar{value: row.WaitP50 / 1e3, text: millis(row.WaitP50) + " ms"}
		}),
	}
}

// groups makes one of each scenario: redlatch first, then its peers, then what is no lock.
func groups(r Results, rows []Row, draw func(Row) bar) (all []group) {
	for _, title := range titles(rows) {
		g := group{title: title}
		for _, class := range []string{"ours", "peer", "reference"} {
			for _, name := range r.of(rows) {
				row, ok := find(rows, title, name)
				if !ok || r.class(row) != class {
					continue
				}
				b := draw(row)
				b.label, b.class = name, class
				g.bars = append(g.bars, b)
			}
		}
		all = append(all, g)
	}
	return all
}

func (r Results) class(row Row) string {
	switch {
	case row.Library == Ours:
		return "ours"
	case row.Floor || !r.lock(row.Library):
		return "reference"
	}
	return "peer"
}
