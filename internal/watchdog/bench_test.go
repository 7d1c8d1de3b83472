package watchdog_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func yes(_ context.Context, due []watchdog.Script, answer func(int, []bool, error)) {
	for i, s := range due {
		answer(i, all(true, len(s.Tickets)), nil)
	}
}

func terms() watchdog.Terms {
	return watchdog.Terms{Lease: lease, Every: every, Margin: margin, Trusted: time.Now().Add(trust)}
}

// What a hold pays for being kept, alone and among others.
func BenchmarkKeepAndForget(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "beside one": 1, "beside 10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			dog := watchdog.New(yes)
			company := make([]owner, others)
			for i := range company {
				dog.Keep(&company[i].Ticket, &company[i], terms())
			}
			o, agreed := new(owner), terms()
			b.ReportAllocs()
			for b.Loop() {
				dog.Keep(&o.Ticket, o, agreed)
				dog.Forget(&o.Ticket)
			}
			for i := range company {
				dog.Forget(&company[i].Ticket)
			}
		})
	}
}

func BenchmarkKeepAndForgetInParallel(b *testing.B) {
	dog := watchdog.New(yes)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		o, agreed := new(owner), terms()
		for pb.Next() {
			dog.Keep(&o.Ticket, o, agreed)
			dog.Forget(&o.Ticket)
		}
	})
}

func BenchmarkTrustedUntil(b *testing.B) {
	dog := watchdog.New(yes)
	o := new(owner)
	dog.Keep(&o.Ticket, o, terms())
	for b.Loop() {
		_ = o.TrustedUntil()
	}
	dog.Forget(&o.Ticket)
}
