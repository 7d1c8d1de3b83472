package multilock

import (
	"slices"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
)

// apart refuses members that are one lock by way of two clients of one server, as far as the addresses of the
// clients show it. To Redis each client is somebody else, so the call would wait for its own hold until its
// context ends.
func (l *Lock) apart() error {
	all := l.standOn(nil)
	if !slices.ContainsFunc(all, func(b *baselock.Base) bool { return b.Session != all[0].Session }) {
		return nil
	}
	for j, b := range all {
		for _, a := range all[:j] {
			if composite.Twin(b, a) && !disjoint(fieldsOf(a.Kind), fieldsOf(b.Kind)) {
				return errs.Wrong("the members %q and %q of the multi-lock are one lock, by two clients of one server: the "+
					"second would wait "+
					"for the first until the end of the context; make both with the same client", errs.Short(a.Name),
					errs.Short(b.Name))
			}
		}
	}
	return nil
}

// standOn adds what the members stand on, those of nested multi-locks too.
func (l *Lock) standOn(all []*baselock.Base) []*baselock.Base {
	for i, m := range l.members {
		base := l.of.Bases[i]
		if base == nil {
			base = baseOf(m)
		}
		if nested, ok := m.(*Lock); ok {
			all = nested.standOn(all)
		} else if base != nil {
			all = append(all, base)
		}
	}
	return all
}

// disjoint tells whether two groups have no value in common.
func disjoint(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a,
		func(field string) bool { return slices.Contains(b, field) })
}
