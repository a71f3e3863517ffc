# Draws of labels (sections 5.1 and 5.2) and of bits (5.3). Each maker reads the fields of its draw
# over k answers, with n reports or bits, and gives sub (x), which gives y, a number or a text of bits.
use v5.28;
use strict;
use warnings;
no warnings qw(portable surrogate nonchar non_unicode recursion);

# ---------------------------------------------------------------- Draws of labels (5.1, 5.2)

# Each maker reads the fields of its document and gives sub (x), which gives y.

our %LABELS = (
    same => sub {
        my ($draw, $k, $n) = @_;
        refuse('document') if $k > $n;
        return sub { $_[0] };
    },
    keep => sub {
        my ($draw, $k, $n) = @_;
        my $T = need_threshold($draw, 'keep');
        refuse('document') if need_count($draw, 'k') != $k or $k > $n;
        my $rest = exists $draw->{rest} ? as_fraction($draw->{rest}) : undef;
        refuse('document') if $rest and $rest->[0] >= $rest->[1];
        return sub { KEEP($_[0], $k, $T, $rest) };
    },
    rows => sub {
        my ($draw, $k, $n) = @_;
        my @rows;
        for my $row (@{need_list($draw, 'rows')}) {
            refuse('document') if ref $row ne 'HASH';
            my $outputs = exists $row->{outputs} ? [need_numbers($row, 'outputs', $n)] : undef;
            push @rows, { upper => need_upper($row, $outputs ? scalar @$outputs : $n), outputs => $outputs };
        }
        refuse('document') if @rows != $k;
        return sub {
            my ($row) = $rows[$_[0]];
            my $y = count_upper($row->{upper}, NEXT());
            return $row->{outputs} ? $row->{outputs}[$y] : $y;
        };
    },
    exact => sub {
        my ($draw, $k, $n) = @_;
        my @rows = map { need_law($_, $n - 1) } @{need_list($draw, 'rows')};
        refuse('document') if @rows != $k;
        return sub { INVERSION($rows[$_[0]]) };
    },
    own => sub {
        my ($draw, $k, $n) = @_;
        my $law = need_law(need_object($draw, 'law'), $n);
        refuse('document') if $k > $n;
        return sub { my $i = INVERSION($law); $i ? $i - 1 : $_[0] };
    },
    others => sub {
        my ($draw, $k, $n) = @_;
        my $law = need_law(need_object($draw, 'law'), $n - 1);
        my @accepted = map { as_fraction($_) } @{need_list($draw, 'accepted')};
        refuse('document') if @accepted != $k;
        return sub {
            my ($x) = @_;
            while (1) {
                my $y = INVERSION($law);
                return $y if $y != $x;
                my ($n, $d) = @{$accepted[$x]};
                my $w = big(NEXT());
                my $b = $n * big(W) / $d;
                $b = big(W) - 1 if $b >= big(W);
                return $y if $w < $b or $w == $b and BELOW($n * big(W) - $b * $d, $d);
            }
        };
    },
    band => sub {
        my ($draw, $k, $n) = @_;
        my ($width, $T) = (need_count($draw, 'width'), need_threshold($draw, 'keep'));
        refuse('document') if need_count($draw, 'k') != $k or $k + $width - 1 != $n;
        return sub {
            my $c = COIN($T);
            my $a = $_[0] + UNIFORM($width);
            my $b = UNIFORM($k + $width - 1);
            return $c ? $a : $b;
        };
    },
    replace => sub {
        my ($draw, $k, $n) = @_;
        my ($T, @by) = (need_threshold($draw, 'keep'), need_numbers($draw, 'by', $n));
        my $upper = exists $draw->{law} && need_upper(need_object($draw, 'law'), scalar @by);
        refuse('document') if $k > $n or !@by and $T ne W;
        return sub {
            NEXT();
            return $_[0] if COIN($T);
            return $by[$upper ? count_upper($upper, NEXT()) : UNIFORM(scalar @by)];
        };
    },
    block => sub {
        my ($draw, $k, $n) = @_;
        my ($own, $others) = map { need_count($draw, $_) } qw(own others);
        my $T = need_threshold($draw, 'keep');
        my $label = design(need_object($draw, 'design'), $own, $k, $n);
        refuse('document') if $own + $others != $n;
        return sub {
            my $c = COIN($T);
            return $label->($_[0], $c, NUMBER($c ? $own : $others));
        };
    },
    parts => sub {
        my ($draw, $k, $n) = @_;
        my @parts = map {
            my ($a, $b) = (need_count($_, 'answers'), need_count($_, 'reports'));
            $k /= $a;
            $n /= $b;
            [$a, $b, label_draw(need_object($_, 'draw'), $a, $b)]
        } @{need_list($draw, 'parts')};
        refuse('document') if $k != 1 or $n != 1;
        return sub {
            my ($x) = @_;
            my (@x, $y);
            for my $part (reverse @parts) { unshift @x, $x % $part->[0]; $x = int($x / $part->[0]) }
            $y = 0;
            for my $part (@parts) { $y = $y * $part->[1] + $part->[2]->(shift @x) }
            return $y;
        };
    },
);

sub label_draw {
    my ($draw, $k, $n) = @_;
    my $make = $LABELS{need_text($draw, 'kind')} or refuse('document');
    return $make->($draw, $k, $n);
}

sub parity {
    my ($row, $number, $e) = @_;
    my $low = $row & (~$row + 1);
    my $y = (($number & ~($low - 1)) << 1) | ($number & ($low - 1));
    my $ones = sprintf('%b', $row & $y) =~ tr/1//;
    return $ones % 2 == $e ? $y : $y | $low;
}

sub point {           # the vector of length t of point n, modulo q
    my ($n, $t, $q) = @_;
    my ($j, $S, $next) = (0, 0, 1);                    # S(j), S(j + 1)
    ($j, $S, $next) = ($j + 1, $next, $next * $q + 1) while $next <= $n;
    return digits($n - $S, $j, $q), 1, (0) x ($t - $j - 1);
}
sub points {          # S(t)
    my ($t, $q) = @_;
    my $S = 0;
    $S = $S * $q + 1 for 1 .. $t;
    return $S;
}
sub digits {
    my ($n, $length, $q) = @_;
    my @digits;
    for (1 .. $length) { push @digits, $n % $q; $n = ($n - $n % $q) / $q }
    return @digits;
}
sub inverse {
    my ($v, $q) = @_;
    my ($result, $power) = (1, $q - 2);
    for (; $power; $power >>= 1, $v = $v * $v % $q) { $result = $result * $v % $q if $power & 1 }
    return $result;
}
sub position {
    my ($q, @v) = @_;
    pop @v while !$v[-1];
    my $scale = inverse(pop @v, $q);
    my ($n, $S, $power) = (0, 0, 1);
    for (@v) { $n += $_ * $scale % $q * $power; $S += $power; $power *= $q }
    return $S + $n;
}

sub design {          # sub (x, own or not, number): answers have `labels` labels of their own among n
    my ($design, $labels, $k, $n) = @_;
    my $kind = need_text($design, 'kind');
    refuse('document') if $k > $n or $kind eq 'single' and $labels != 1;
    return sub { my ($x, $own, $n) = @_; $own ? $x : $n + ($n >= $x) } if $kind eq 'single';
    if ($kind eq 'hadamard') {
        my $b = need_count($design, 'order');
        refuse('document') if $b != 2 * $labels or $n % $b or $k > $n / $b * ($b - 1);
        return sub {
            my ($x, $own, $number) = @_;
            my ($part, $row) = (int($x / ($b - 1)) * $b, $x % ($b - 1) + 1);
            return $part + parity($row, $number, 0) if $own;
            return $part + parity($row, $number, 1) if $number < $b / 2;
            my $far = $number - $b / 2;
            return $far >= $part ? $far + $b : $far;
        };
    }
    if ($kind eq 'projective') {
        my ($q, $t) = map { need_count($design, $_) } qw(q t);
        refuse('document') if $t < 2 or $t > 64 or $labels != points($t - 1, $q) or $n != points($t, $q);
        return sub {
            my ($x, $own, $number) = @_;
            my @X = point($x, $t, $q);
            my ($j) = grep { $X[$_] } reverse 0 .. $t - 1;
            my @V = $own ? point($number, $t - 1, $q) : digits($number, $t - 1, $q);
            splice @V, $j, 0, 0;
            my $last = $own ? 0 : 1;
            $last += $q - $X[$_] * $V[$_] % $q for grep { $_ != $j } 0 .. $t - 1;
            $V[$j] = $last % $q;
            return position($q, @V);
        };
    }
    refuse('document');
}

# ---------------------------------------------------------------- Draws of bits (5.3)

our %BITS = (
    bits => sub {
        my ($draw, $k, $n) = @_;
        my $m    = need_count($draw, 'bits');
        my $sent = need_count($draw, 'sent', $m);
        refuse('document') if $m < $k or $sent != $n;
        my ($own, $other) = map { need_threshold_or_list($draw, $_, $m) } qw(own other);
        return sub { join '', (BITS($m, [$_[0]], $own, $other))[0 .. $sent - 1] };
    },
    subset => sub {
        my ($draw, $k, $n) = @_;
        my ($size, $T) = (need_count($draw, 'size', $k - 1), need_threshold($draw, 'keep'));
        refuse('document') if need_count($draw, 'k') != $k or $k != $n;
        return sub {
            my ($x) = @_;
            my $c = COIN($T);
            my $n = $c ? $size - 1 : $size;
            my (@keys, @order);
            do {
                @keys  = unpack 'L<*', take($k >> 1);
                @order = sort { $keys[$a] <=> $keys[$b] } 0 .. $k - 2;
            } while $n > 0 and $n < $k - 1 and $keys[$order[$n - 1]] == $keys[$order[$n]];
            my @A = (0) x $k;
            @A[@order[0 .. $n - 1]] = (1) x $n;
            ($A[$k - 1], $A[$x]) = ($A[$x], $c);
            $A[$x] = $c;
            return join '', @A;
        };
    },
    reveal => sub {
        my ($draw, $k, $n) = @_;
        my @sensitive = need_numbers($draw, 'sensitive', $k);
        refuse('document') if $k != $n or grep { $sensitive[$_] <= $sensitive[$_ - 1] } 1 .. $#sensitive;
        my $own   = [@{need_thresholds($draw, 'own')}, need_threshold($draw, 'told')];
        my $other = [@{need_thresholds($draw, 'other')}, 0];
        refuse('document') if @$own != @$other or @$own != @sensitive + 1;
        my %place;
        @place{@sensitive} = 0 .. $#sensitive;
        return sub {
            my ($x) = @_;
            NEXT();
            my @B = BITS(@sensitive + 1, [$place{$x} // scalar @sensitive], $own, $other);
            my @out = (0) x $k;
            @out[@sensitive] = @B[0 .. $#sensitive];
            $out[$x] = $B[-1] unless exists $place{$x};
            return join '', @out;
        };
    },
);

1;
