package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch/benchmarks/internal/delay"
	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
)

// primitives runs a scenario with each primitive in turn, between blocks of the floor, and with Redisson's counterpart where
// there is one. A primitive that fails is left out, and the results say so. The others are measured all the same.
func (t *Trial) primitives(ctx context.Context, s scenario, results *report.Results) (err error) {
	l, err := library.Named(s.floor())
	if err != nil {
		return err
	}
	addrs, near, err := t.reach(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, near()) }()
	config := t.config(addrs[0])
	config.Others = addrs[1:]
	if s.group == "wake" {
		config.Permits = 1 // so that the second caller has to wait
	}
	floor, err := t.enter(s, l, config, s.key("primitives", l.Name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave([]*entrant{floor})) }()
	var rows []report.Row
	for _, p := range library.Primitives {
		if !s.admits(p) || !t.Libraries.MatchString(p.Name) {
			continue
		}
		more, err := t.primitive(ctx, s, p, floor, config)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			results.Left = append(results.Left, fmt.Sprintf("primitives/%s (%v)", s.name, err))
		}
		rows = append(rows, more...)
	}
	if len(rows) == 0 {
		return nil
	}
	for _, row := range append([]report.Row{floor.row(s, "loopback", t.Block)}, rows...) {
		row.Primitive = true
		results.Rows = append(results.Rows, row)
	}
	return nil
}

// reach gives the addresses of all servers: of proxies in front of them if the scenario wants these to be further away.
func (t *Trial) reach(s scenario) (addrs []string, leave func() error, err error) {
	var proxies []*delay.Process
	leave = func() error {
		var errs []error
		for _, proxy := range proxies {
			errs = append(errs, proxy.Close())
		}
		return errors.Join(errs...)
	}
	for _, server := range t.servers() {
		addr := server.Addr
		if s.away > 0 {
			proxy, err := delay.Spawn(addr, s.away/2)
			if err != nil {
				return nil, nil, errors.Join(err, leave())
			}
			proxies, addr = append(proxies, proxy), proxy.Addr
		}
		addrs = append(addrs, addr)
	}
	return addrs, leave, nil
}

func (t *Trial) primitive(ctx context.Context, s scenario, p library.Primitive, floor *entrant, config library.Config) (rows []report.Row, err error) {
	if p.Servers > 1+len(t.Others) {
		return nil, fmt.Errorf("%s: %d servers are missing", p.Name, p.Servers-1-len(t.Others))
	}
	if p.Servers == 0 {
		config.Others = nil
	}
	e, err := t.enter(s, p.Library, config, s.key("primitives", p.Name))
	if err != nil {
		return nil, err
	}
	e.idles = true
	entrants := []*entrant{e}
	if p.Servers > 0 {
		e.others = t.Others
	}
	defer func() {
		errs := []error{err, leave(entrants)}
		for _, server := range t.servers() {
			errs = append(errs, server.Forget("*"+prefix+"*"))
		}
		err = errors.Join(errs...)
	}()
	if t.Java != nil && s.java && p.Redisson != "" && t.Libraries.MatchString(Redisson) {
		name := p.Name + report.Counterpart
		key := s.key("primitives", name)
		entrants = append(entrants, &entrant{
			name: name, runner: t.Java.Primitive(p.Redisson, key, library.Members(key), s.callers),
			close: func() error { return nil }, idles: true,
		})
	}
	if err := t.frame(ctx, s, t.Rounds, floor, append([]*entrant(nil), entrants...)); err != nil {
		return nil, err
	}
	for _, e := range entrants {
		rows = append(rows, e.row(s, "loopback", t.Block))
	}
	return rows, nil
}
