// Bank-transfer moves money between accounts, each behind a lock of its own, without deadlock and without loss.
//
//	go run ./examples/bank-transfer
//
// A transfer needs both accounts at once. Taken one after the other, two transfers in opposite directions would wait
// for each other; a multi-lock takes all or none.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

const (
	accounts  = 4
	opening   = 100
	processes = 4
	transfers = 25 // by each process
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := connect.Open()
	defer server.Close()
	rdb := server.Client()
	for account := range accounts {
		if err := rdb.Set(ctx, key(account), opening, 0).Err(); err != nil {
			return err
		}
		defer rdb.Del(ctx, key(account))
	}

	group, groupCtx := errgroup.WithContext(ctx)
	for range processes {
		rdb := server.Client()
		group.Go(func() error {
			for range transfers {
				from := rand.N(accounts)
				to := (from + 1 + rand.N(accounts-1)) % accounts
				if err := transfer(groupCtx, rdb, from, to, rand.N(50)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}

	total := 0
	for account := range accounts {
		balance, err := rdb.Get(ctx, key(account)).Int()
		if err != nil {
			return err
		}
		fmt.Printf("account %d has %d\n", account, balance)
		total += balance
	}
	fmt.Printf("%d transfers, and the total is %d as before\n", processes*transfers, total)
	if total != accounts*opening {
		return fmt.Errorf("money was made or lost: %d instead of %d", total, accounts*opening)
	}
	return nil
}

// transfer reads both balances and writes both. Only the locks make that safe.
func transfer(ctx context.Context, rdb *redis.Client, from, to, amount int) error {
	lock := multilock.New(rlock.New(rdb, name(from)), rlock.New(rdb, name(to)))
	return lock.Do(ctx, func(ctx context.Context) error {
		payer, err := rdb.Get(ctx, key(from)).Int()
		if err != nil || payer < amount {
			return err // without enough money nothing is transferred
		}
		payee, err := rdb.Get(ctx, key(to)).Int()
		if err != nil {
			return err
		}
		return rdb.MSet(ctx, key(from), payer-amount, key(to), payee+amount).Err()
	})
}

func name(account int) string { return fmt.Sprintf("example:account:%d", account) }

func key(account int) string { return name(account) + ":balance" }
