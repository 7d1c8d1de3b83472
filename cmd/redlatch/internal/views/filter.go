package views

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Filter is what is to be shown of all objects. The zero value has all.
type Filter struct {
	Pattern string // of the name: a part of it, or all of it with * for any characters and ? for one
	Dead    bool   // what a process holds that is probably dead, or for what one has said to wait
	Waiting bool   // what calls wait for
	Host    string // what processes of this host hold or wait for; its domain may be left out
}

// Apply leaves out what the filter does not have.
func (f Filter) Apply(v *Ls) {
	if f == (Filter{}) {
		return
	}
	name := pattern(f.Pattern)
	v.Objects = slices.DeleteFunc(v.Objects, func(o Object) bool {
		return !name.MatchString(o.Name) || f.Waiting && o.waits() == 0 ||
			f.Dead && !slices.ContainsFunc(o.parties(), func(p Party) bool { return p.Silent }) ||
			f.Host != "" && !slices.ContainsFunc(o.parties(), func(p Party) bool { return isHost(p.host, f.Host) })
	})
	v.filtered = true
}

// parties are all that have to do with an object.
func (o *Object) parties() (all []Party) {
	for _, h := range o.Holders {
		all = append(all, h.Party)
	}
	for _, c := range o.Unconfirmed {
		all = append(all, c.Party)
	}
	for _, w := range o.Waiting {
		all = append(all, w.Party)
	}
	return all
}

func isHost(host, wanted string) bool {
	short, _, _ := strings.Cut(host, ".")
	return host != "" && (host == wanted || short == wanted)
}

// pattern is a text of a Filter.
func pattern(text string) *regexp.Regexp {
	parts := regexp.QuoteMeta(text)
	if !strings.ContainsAny(text, "*?") {
		return regexp.MustCompile("(?s)" + parts)
	}
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(parts) + "$")
}

// Soon is for how long a client of this library may hold something before it says who it is, and some more. One that is seen for a moment
// without a name has one then.
const Soon = 1200 * time.Millisecond

// Nameless tells whether it is held by a client of this library that has not said yet who it is.
func (o *Object) Nameless() bool {
	return slices.ContainsFunc(o.Holders, func(h Holder) bool {
		return !h.Known && len(h.ClientID) == 36 && h.ClientID[14] == '8' // as the uuids of this library have it
	})
}

// Nameless tells it of any object.
func (v *Ls) Nameless() bool {
	return slices.ContainsFunc(v.Objects, func(o Object) bool { return o.Nameless() })
}
