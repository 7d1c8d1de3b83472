package fleet

import (
	"time"

	"github.com/redlatch/redlatch"
)

// join makes an object of what Redis says about it and what the entries say about the identities.
func join(of source, info redlatch.Info, q *queue, known *entries, now time.Time) *Object {
	o := &Object{Kind: of.kind, Key: info.Key, Info: info, Holders: []Holder{}, Waiting: q.who(info, known, now)}
	claims := claimsOf(o.Kind, o.Key, known)
	held := map[string]bool{}
	counted := map[string]bool{} // clients that hold
	for _, h := range info.Holders {
		holder := Holder{Holder: h, ClientID: clientOf(h.Owner), of: &of}
		held[h.Owner] = true
		for i := range claims {
			if c := &claims[i]; c.Owner == h.Owner && (h.Side == "" || c.Side == h.Side) {
				c.confirmed = true
				holder.Kept = c.kept
				holder.ClientID = c.Client.ID
				if holder.Since.IsZero() {
					holder.Since = c.Since
				}
			}
		}
		holder.Client = known.of(holder.ClientID)
		counted[holder.ClientID] = true
		o.Holders = append(o.Holders, holder)
	}
	for _, c := range claims {
		if !c.confirmed && !c.Client.Ended && !(c.Owner == "" && counted[c.Client.ID]) { // what an ended one has left is over
			o.Unconfirmed = append(o.Unconfirmed, c.UnconfirmedHolder)
		}
	}
	return o
}

type claim struct {
	UnconfirmedHolder
	confirmed bool
}

// claimsOf are the holds that clients say to have of an object: one for each identity that they name, or one
// for all where they name none.
func claimsOf(kind redlatch.Kind, key string, known *entries) (claims []claim) {
	for _, u := range known.uses[key] {
		if shapeFor(u.Kind) != shapeFor(kind) || u.Holds == 0 {
			continue
		}
		side := sideOf(u.Kind)
		if len(u.Owners) == 0 || kind == redlatch.KindSemaphore {
			claims = append(claims, claim{UnconfirmedHolder: UnconfirmedHolder{Client: u.client, Holds: u.Holds,
				Since: u.HeldSince, Side: side}})
			continue
		}
		for _, owner := range u.Owners {
			claims = append(claims, claim{UnconfirmedHolder: UnconfirmedHolder{Client: u.client, Owner: owner.ID, Holds: 1,
				Since: owner.Since, Side: side, kept: owner.Kept}})
		}
	}
	return claims
}
