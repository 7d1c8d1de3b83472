package sim

import "slices"

// Shrink makes a plan smaller for as long as it is still convicted: first clients, workers and faults go, then steps, then
// what a step has beyond the plainest use. Since two runs of a plan may differ, convicted should run a plan more than
// once, and most is how many plans are tried at most.
func Shrink(p Plan, most int, convicted func(Plan) bool) Plan {
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range lesser(p) {
			if most--; most < 0 {
				return p
			}
			if candidate, ok := candidate(); ok && convicted(candidate) {
				p, smaller = candidate, true
				break
			}
		}
	}
	return p
}

// lesser are the ways to make a plan smaller, the greatest steps first.
func lesser(p Plan) (ways []func() (Plan, bool)) {
	add := func(change func(p *Plan) bool) {
		ways = append(ways, func() (Plan, bool) {
			q := clone(p)
			return q, change(&q)
		})
	}
	add(func(p *Plan) bool { some := len(p.Faults) > 0; p.Faults = nil; return some })
	for half := len(p.Faults) / 2; half > 0; half /= 2 {
		for from := 0; from < len(p.Faults); from += half {
			add(func(p *Plan) bool {
				p.Faults = slices.Delete(p.Faults, from, min(from+half, len(p.Faults)))
				return true
			})
		}
	}
	for i, c := range p.Clients {
		add(func(p *Plan) bool { some := len(p.Clients[i].Workers) > 0; p.Clients[i].Workers = nil; return some })
		for j := range c.Workers {
			add(func(p *Plan) bool {
				p.Clients[i].Workers = slices.Delete(p.Clients[i].Workers, j, j+1)
				return true
			})
		}
	}
	for i, c := range p.Clients {
		for j, steps := range c.Workers {
			for half := (len(steps) + 1) / 2; half > 0; half /= 2 {
				for from := 0; from < len(steps); from += half {
					add(func(p *Plan) bool {
						w := &p.Clients[i].Workers[j]
						*w = slices.Delete(*w, from, min(from+half, len(*w)))
						return true
					})
				}
			}
		}
	}
	for i, c := range p.Clients {
		for j, steps := range c.Workers {
			for k := range steps {
				for _, simpler := range simplify {
					add(func(p *Plan) bool {
						s := &p.Clients[i].Workers[j][k]
						before := *s
						simpler(s)
						return *s != before
					})
				}
			}
		}
	}
	return ways
}

// simplify are the ways to make a step plainer.
var simplify = []func(s *Step){
	func(s *Step) { s.Inner = nil },
	func(s *Step) { s.Extend = 0 },
	func(s *Step) { s.Leave = false },
	func(s *Step) { s.AtLeast = 0 },
	func(s *Step) { s.Cancel = 0 },
	func(s *Step) { s.Wait = 0 },
	func(s *Step) { s.MaxHold = 0 },
	func(s *Step) { s.Lease = 0 },
	func(s *Step) { s.Watchdog = 0 },
	func(s *Step) { s.Poll = 0 },
	func(s *Step) { s.Try = false },
}

func clone(p Plan) Plan {
	p.Objects, p.Faults, p.Clients = slices.Clone(p.Objects), slices.Clone(p.Faults), slices.Clone(p.Clients)
	for i := range p.Clients {
		c := &p.Clients[i]
		c.Workers = slices.Clone(c.Workers)
		for j := range c.Workers {
			c.Workers[j] = slices.Clone(c.Workers[j])
		}
	}
	return p
}
