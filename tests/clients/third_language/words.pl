# Random words and elementary draws (section 3), hashes (6), and what follows from RAPPOR's secret (8).
# Numbers of 64 bits are Perl's unsigned integers, which turn into floats above 2^64 - 1: so products
# and sums modulo 2^64 go by halves, and the threshold 2^64 stays a text. Fractions are Math::BigInt.
# Vectors of words (COINS) are byte strings, on which `&.`, `|.` and vec() work: bit b of a vector is
# vec($words, $b, 1).
use v5.28;
use strict;
use warnings;
no warnings qw(portable surrogate nonchar non_unicode recursion);
use Digest::MD5 ();
use Digest::SHA ();

use constant { LOW => 0xFFFFFFFF, BLOCK => 4096 };

# ---------------------------------------------------------------- Random words and elementary draws

our ($random, $taken);    # the bytes that are given, and how many were taken

sub take {            # n words, as bytes
    my ($n) = @_;
    my $bytes = substr $random, $taken, 8 * $n;
    if (length $bytes < 8 * $n) {
        $taken += 8 * (length($bytes) >> 3);
        refuse('random');
    }
    $taken += 8 * $n;
    return $bytes;
}
sub NEXT { unpack 'Q<', take(1) }

sub is_below { my ($w, $T) = @_; return $w ne W && ($T eq W || $w < $T) }
sub is_above { my ($w, $T) = @_; return $T ne W && $w > $T }
sub halves   { my ($T) = @_; return $T eq W ? (1 << 32, 0) : ($T >> 32, $T & LOW) }
sub by_size  { ($a eq W) <=> ($b eq W) || $a <=> $b }

sub KEEP {
    my ($x, $k, $T, $r) = @_;
    my ($high, $low) = halves($T);
    my $w = NEXT();
    my $kept = ($w >> 32) < $high;
    if (($w >> 32) == $high) {
        my $v = NEXT() >> 32;
        $kept = $v < $low || $v == $low && $r && BELOW(@$r);
    }
    return $x if $kept;
    my $u = ($w & LOW) * $k;
    while (($u & LOW) < (1 << 32) % $k) { $u = (NEXT() & LOW) * $k }
    return $u >> 32;
}
sub UNIFORM { KEEP(0, $_[0], 0) }

sub BELOW {           # of a fraction of two Math::BigInt
    my ($n, $d) = @_;
    while ($n > 0 and $n < $d) { $n = $n * big(W) - $d * big(NEXT()) }
    return $n > 0;
}

sub COINS {           # n words, as bytes
    my ($n, $T) = @_;
    return "\0" x (8 * $n) if $T eq '0';
    return "\xFF" x (8 * $n) if $T eq W;
    (my $digits = sprintf '%064b', $T) =~ s/0+\z//;
    my @d = split //, substr $digits, 0, 12;
    my ($out, $tied) = ('', '');
    for (my $from = 0; $from < $n; $from += BLOCK) {
        my $size = $n - $from < BLOCK ? $n - $from : BLOCK;
        my @R = map { take($size) } @d;
        my ($o, $t) = ("\0" x (8 * $size), "\xFF" x (8 * $size));
        for my $i (0 .. $#d) {
            $o |.= $t &. ~.$R[$i] if $d[$i];
            $t &.= $R[$i];
        }
        $out .= $o;
        $tied .= $t;
    }
    if (length $digits > 12) {
        my $zero = "\0" x 8;
        my @J = grep { substr($tied, 8 * $_, 8) ne $zero } 0 .. $n - 1;
        if (@J) {
            my $X = COINS(scalar @J, $T << 12);
            for my $i (0 .. $#J) {
                substr($out, 8 * $J[$i], 8) |.= substr($tied, 8 * $J[$i], 8) &. substr($X, 8 * $i, 8);
            }
        }
    }
    return $out;
}
sub COIN { vec COINS(1, $_[0]), 0, 1 }

sub BITS {            # a list of 0 and 1
    my ($m, $P, $own, $other) = @_;
    my @B = (0) x $m;
    my %have;
    push @{$have{ref $other ? $other->[$_] : $other}}, $_ for 0 .. $m - 1;
    for my $T (sort by_size keys %have) {
        my ($first, $last) = map { $_ >> 3 } @{$have{$T}}[0, -1];
        my $X = COINS(($last - $first + 8) >> 3, $T eq W ? W : $T + 0);
        $B[$_] = vec $X, $_ - 8 * $first, 1 for @{$have{$T}};
    }
    $B[$_] = vec COINS(1, ref $own ? $own->[$_] : $own), 7, 1 for @$P;
    return @B;
}

sub NUMBER {
    my ($b) = @_;
    my $rest = (18446744073709551615 % $b + 1) % $b;    # W mod b
    my $w = NEXT();
    $w = NEXT() while $rest and $w > 18446744073709551615 - $rest;
    return $w % $b;
}

sub count_upper { my ($upper, $w) = @_; return scalar grep { is_above($w, $_) } @$upper }

sub INVERSION {
    my ($law) = @_;
    my $w = NEXT();
    my $a = count_upper($law->{upper}, $w);
    my $z = grep { !is_below($w, $_) } @{$law->{upper}};
    return $a + REACHED($law->{total}, @{$law->{rest}}[$a .. $z - 1]);
}

sub REACHED {
    my ($total, @rest) = @_;
    return 0 unless @rest;
    my $n = 0;
    $total = big($total);
    @rest = map { big($_) } @rest;
    while (@rest) {
        my $w = big(NEXT());
        my @g = map { $_ * big(W) / $total } @rest;
        my $a = grep { $_ < $w } @g;
        my $z = grep { $_ <= $w } @g;
        $n += $a;
        @rest = map { $_ * big(W) - $w * $total } @rest[$a .. $z - 1];
        while (@rest and $rest[0]->is_zero) { shift @rest; $n++ }
    }
    return $n;
}

# ---------------------------------------------------------------- Hashes (section 6)

sub multiply {        # modulo W
    my ($x, $y) = @_;
    my $low    = ($x & LOW) * ($y & LOW);
    my $middle = ((($x >> 32) * ($y & LOW)) & LOW) + ((($x & LOW) * ($y >> 32)) & LOW) + ($low >> 32);
    return (($middle & LOW) << 32) | ($low & LOW);
}
sub mix64 {
    my ($z) = @_;
    $z = multiply($z ^ ($z >> 30), 0xBF58476D1CE4E5B9);
    $z = multiply($z ^ ($z >> 27), 0x94D049BB133111EB);
    return $z ^ ($z >> 31);
}
sub key { my ($c, $j) = @_; return mix64(multiply(0x9E3779B97F4A7C15, 65536 * $c + $j + 1)) }

sub utf8_bytes {      # where UTF-8 is made of an answer, a lone surrogate is refused
    my ($text) = @_;
    refuse('answer') if $text =~ /[\x{D800}-\x{DFFF}]/;
    utf8::encode($text);
    return $text;
}

sub ranks {
    my ($c, $j, $size) = @_;
    my $K = key($c, $j);
    my @mixed = map { mix64($_ ^ $K) } 0 .. $size - 1;
    my @rank;
    @rank[sort { $mixed[$a] <=> $mixed[$b] } 0 .. $size - 1] = 0 .. $size - 1;
    return @rank;
}

# The h cells of answers in a cohort: sub (c, text, number).
sub hasher {
    my ($draw, $answers) = @_;
    my $hash = need_text($draw, 'hash');
    my ($m, $h) = map { need_count($draw, $_) } qw(cells hashes);
    return sub {
        my ($c, $text) = @_;
        my $H = unpack 'Q<', Digest::SHA::sha256(utf8_bytes($text));
        return map { ((mix64($H ^ key($c, $_)) >> 32) * $m) >> 32 } 0 .. $h - 1;
    } if $hash eq 'ldpstats';
    return sub {
        my ($c, $text) = @_;
        my @bytes = unpack 'C*', Digest::MD5::md5(pack('N', $c) . utf8_bytes($text));
        return map { $bytes[$_] % $m } 0 .. $h - 1;
    } if $hash eq 'md5' and $h <= 16 and $m <= 256;
    return sub {
        my ($c, undef, $x) = @_;
        my (@cells, %seen);
        for my $j (0 .. $h - 1) {
            my $cell = (ranks($c, $j, $answers->{size}))[$x] % $m;
            push @cells, $seen{$cell}++ ? $cells[0] : $cell;
        }
        return @cells;
    } if $hash eq 'permutation' and $answers;
    refuse('document');
}

# ---------------------------------------------------------------- RAPPOR's secret (section 8)

sub hmac_words {      # n words of a message of RAPPOR's secret
    my ($secret, $message, $n) = @_;
    my @blocks = map { Digest::SHA::hmac_sha256($message . pack('Q>', $_), $secret) } 0 .. ($n + 3) / 4 - 1;
    return (unpack '(Q<)*', join '', @blocks)[0 .. $n - 1];
}
sub rappor_cohort {
    my ($secret, $C) = @_;
    my ($w) = hmac_words($secret, "ldpstats cohort 1 $C", 1);
    return (($w >> 32) * $C + ((($w & LOW) * $C) >> 32)) >> 32;
}
sub permanent {       # the permanent response, a list of bits
    my ($secret, $c, $digest, $text, $m, $owned, $absent, @cells) = @_;
    my %own = map { $_ => 1 } @cells;
    my $message = "ldpstats permanent 1 $c $absent $digest\0" . Digest::SHA::sha256(utf8_bytes($text));
    my @words = hmac_words($secret, $message, $m);
    return map { is_below($words[$_], $own{$_} ? $owned : $absent) ? 1 : 0 } 0 .. $m - 1;
}

1;
