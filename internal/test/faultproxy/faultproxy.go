// Package faultproxy gives tests the proxy of package proxy, closed with the test: what is an error there fails the test
// here. Package proxy says what each method and each action does.
//
//	p := faultproxy.New(t, srv.Addr)
//	rule := p.On(faultproxy.Named("EVALSHA"), 1, faultproxy.DropReply)
//	... a client of p.Addr() ...
//	rule.AwaitExecuted(t, 1)
//
// This is test support: nothing but tests may import it.
package faultproxy

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/test/proxy"
)

// A Command is one request as a client sent it.
type Command = proxy.Command

// An Action is what happens to a command that a Rule matches.
type Action = proxy.Action

// The actions.
var (
	DropReply   = proxy.DropReply
	HalfReply   = proxy.HalfReply
	SplitReply  = proxy.SplitReply
	CloseAfter  = proxy.CloseAfter
	ResetAfter  = proxy.ResetAfter
	HoldReply   = proxy.HoldReply
	CloseBefore = proxy.CloseBefore
	DropRequest = proxy.DropRequest
	Hold        = proxy.Hold
)

// Delay lets the request, and with it those behind it, reach the server d later.
func Delay(d time.Duration) Action { return proxy.Delay(d) }

// Replace answers an error in place of the server, which has executed the command.
func Replace(text string) Action { return proxy.Replace(text) }

// Named matches the commands with one of these names, written in upper case.
func Named(names ...string) func(Command) bool { return proxy.Named(names...) }

// OnKey matches the scripts whose first key is this one.
func OnKey(key string) func(Command) bool { return proxy.OnKey(key) }

// A Proxy stands between clients and one server, for one test.
type Proxy struct {
	*proxy.Proxy
	tb testing.TB
}

// New returns a proxy to the server at upstream; it is closed with the test.
func New(tb testing.TB, upstream string) *Proxy {
	tb.Helper()
	inner, err := proxy.Start(upstream)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Proxy: inner, tb: tb}
	tb.Cleanup(p.Close)
	return p
}

// Close ends all connections and waits for them.
func (p *Proxy) Close() { p.tb.Helper(); p.check(p.Proxy.Close()) }

// Refuse makes new connections fail when they are dialled, or ends that.
func (p *Proxy) Refuse(refuse bool) { p.tb.Helper(); p.check(p.Proxy.Refuse(refuse)) }

// Heal ends every fault but the rules.
func (p *Proxy) Heal() { p.tb.Helper(); p.check(p.Proxy.Heal()) }

func (p *Proxy) check(err error) {
	p.tb.Helper()
	if err != nil {
		p.tb.Error(err)
	}
}

// A Rule applies one action to the commands it matches.
type Rule struct{ *proxy.Rule }

// On adds a rule; see proxy.Proxy.On.
func (p *Proxy) On(match func(Command) bool, times int, action Action) *Rule {
	return &Rule{p.Proxy.On(match, times, action)}
}

// AwaitHits returns when there are at least n hits.
func (r *Rule) AwaitHits(tb testing.TB, n int) {
	tb.Helper()
	await(tb, n, "hits of a rule", r.Hits)
}

// AwaitExecuted returns when the server has answered at least n hits.
func (r *Rule) AwaitExecuted(tb testing.TB, n int) {
	tb.Helper()
	await(tb, n, "answers to commands of a rule", r.Executed)
}

// patience bounds the waits of tests: what they wait for happens within milliseconds or not at all.
const patience = 30 * time.Second

func await(tb testing.TB, n int, what string, count func() int) {
	tb.Helper()
	for deadline := time.Now().Add(patience); count() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("faultproxy: waited %v for %d %s, saw %d", patience, n, what, count())
		}
	}
}
